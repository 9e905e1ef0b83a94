"""What each check has found and what to do about it, in Chinese. In English the condition says it itself. The first
sentence whose names are all known is the one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from muster.domain.alerting.alert_rules import Check


class Told(NamedTuple):
    message: Sequence[str]
    advice: Sequence[str]


_LOOK_AT_NODE = ("用 `muster describe node/{name}` 查看",)
_STOPPED_WORKING = "没有输出日志，也没有工作"
_CHANGE_IT = "修改作业或换一个集群，或请管理员处理；`muster explain {name}` 会说明原因"
_CONDITIONS_ZH: Mapping[Check, Told] = {
    Check.NODE_UNREACHABLE: Told(
        ("节点 {name} 无法连接：{note}", "节点 {name} 无法连接"),
        ("检查机器是否开机、网络是否连通；`muster node reconnect {name}` 会立即重试",),
    ),
    Check.NODE_DISK: Told(
        ("节点 {name} 的磁盘使用率为 {value} %，上限为 {limit} %",), ("清理 {name} 上不再需要的文件",)
    ),
    Check.NODE_MEMORY: Told(("节点 {name} 的内存使用率为 {value} %，上限为 {limit} %",), _LOOK_AT_NODE),
    Check.NODE_CPU: Told(("节点 {name} 的 CPU 使用率为 {value} %，上限为 {limit} %",), _LOOK_AT_NODE),
    Check.GPU_ECC: Told(("GPU {name} 有 {value} 个 ECC 无法纠正的显存错误",), ("重置或更换该 GPU",)),
    Check.GPU_LOST: Told(("驱动不再列出 GPU {name}",), ("检查机器上的该 GPU，或重启节点",)),
    Check.GPU_TEMPERATURE: Told(
        ("GPU {name} 的温度为 {value} °C，上限为 {limit} °C",), ("检查该 GPU 的风扇和机房的散热",)
    ),
    Check.GPU_FOREIGN_PROCESS: Told(
        ("GPU {name} 被 Muster 之外的进程占用：{foreign}", "GPU {name} 被 Muster 之外的进程占用"),
        ("结束该进程，或将其作为作业运行",),
    ),
    Check.GPU_IDLE: Told(
        ("作业 {name} 占有 {gpus} 块 GPU，但没有使用",),
        ("用 `muster logs {name}` 查看；若已不需要请结束它，其他作业可能在等待它占有的资源",),
    ),
    Check.CLUSTER_UNREACHABLE: Told(
        ("集群 {name} 无法启动任何作业（共 {nodes} 个节点）", "集群 {name} 无法启动任何作业"),
        ("用 `muster get nodes --cluster {name}` 查看",),
    ),
    Check.QUEUE_LENGTH: Told(
        ("集群 {name} 上有 {value} 个作业在等待，上限为 {limit}",), ("用 `muster queue --cluster {name}` 查看",)
    ),
    Check.JOB_WAITING: Told(
        ("{owner} 的作业 {name} 一直在等待", "作业 {name} 一直在等待"), ("`muster explain {name}` 会说明在等待什么",)
    ),
    Check.JOB_NEEDS_ACTION: Told(("作业 {name} 需要有人处理才能启动",), (_CHANGE_IT,)),
    Check.JOB_HUNG: Told(
        (
            f"作业 {{name}} 有 {{value}} 个任务停滞（{{tasks}}）：{_STOPPED_WORKING}，而同组任务仍在运行",
            f"作业 {{name}} 有 {{value}} 个任务停滞：{_STOPPED_WORKING}，而同组任务仍在运行",
        ),
        ("用 `muster stacks {name}` 和 `muster logs {name}` 查看其任务停在何处",),
    ),
    Check.JOB_STALLED: Told(
        (f"作业 {{name}} 的全部 {{value}} 个任务停滞：{_STOPPED_WORKING}",),
        ("用 `muster stacks {name}` 查看停在何处；其他作业可能在等待它占有的资源",),
    ),
    Check.CERTIFICATE: Told(
        ("服务器证书将在 {days} 天后到期", "服务器证书已到期"),
        ("更换 tlsCert 和 tlsKey 的文件；服务器无需重启即会使用",),
    ),
    Check.SERVER_DISK: Told(
        ("服务器主目录所在磁盘已用 {percent} %", "服务器主目录所在磁盘快满了"), ("清理不再需要的文件",)
    ),
    Check.LOG_SERVER: Told(
        ("作业记录无法发送到日志服务器 {address}，{waiting} 条等待发送", "作业记录无法发送到日志服务器"),
        ("启动该日志服务器，或修正服务器设置中的 logServer",),
    ),
}
_NEEDS_ACTION_ZH: Mapping[str, str] = {
    "never": "作业 {name} 不会启动：集群无法满足其要求",
    "not-in-order": "作业 {name} 不会启动：节点缺少所需的目录或程序",
    "engine-stuck": "作业 {name} 在 {cluster} 的队列中无法启动：{said}",
    "cluster-removed": "作业 {name} 不会启动：集群 {cluster} 的配置文件已被删除",
    "held": "作业 {name} 已被挂起，不会自行恢复",
}
CONDITIONS: Mapping[str, Mapping[Check, Told]] = {"zh": _CONDITIONS_ZH}
"""The words for each condition, by language."""
NEEDS_ACTION: Mapping[str, Mapping[str, str]] = {"zh": _NEEDS_ACTION_ZH}
"""The words, by language and code of a reason, for why a job does not start until somebody acts."""
