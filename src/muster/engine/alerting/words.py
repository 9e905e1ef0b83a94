"""The sentences of notices in both languages. Both tables have the same keys with the same placeholders."""

from collections.abc import Mapping

_EN = {
    "firing.title": "[Muster] {rule}: {subject}",
    "firing.text": "{message}.\n\nRule {rule}, {severity}, since {since}.",
    "advice": "What to do: {advice}.",
    "actions": "This is done by itself: {actions}.",
    "once": "You get one more notice when it is over, and none in between.",
    "resolved.title": "[Muster] {rule} is over: {subject}",
    "resolved.text": "It is over: {message}.\n\nRule {rule}, {severity}. It lasted from {since} to {until}.",
    "job.succeeded.title": "[Muster] {job} succeeded",
    "job.succeeded.text": "Your job {job} succeeded after {lasted}.",
    "job.failed.title": "[Muster] {job} failed",
    "job.failed.text": "Your job {job} failed after {lasted}: {reason}",
    "job.cancelled.title": "[Muster] {job} was stopped",
    "job.cancelled.text": "Your job {job} was stopped: {reason}",
    "job.waiting.title": "[Muster] {job} has been waiting for {lasted}",
    "job.waiting.text": "Your job {job} has been waiting on cluster {cluster} for {lasted}.",
    "see": "See {address}, or run `muster explain {job}`.",
    "settings": "You get this notice because your settings ask for it: `muster notices show`.",
    "test.title": "[Muster] Test notice",
    "test.text": "This is a test. Nothing is wrong.",
    "severity.critical": "critical",
    "severity.warning": "a warning",
    "severity.info": "for information",
    "action.cordon": "the node gets no new tasks",
    "action.stop": "the job is stopped",
    "action.tag": "the job is labelled",
    "action.restart": "the job is started again",
    "action.stacks": "the stacks of its tasks are kept: muster stacks {name} --kept",
    "subject.server": "the server",
}
_ZH = {
    "firing.title": "[Muster] {rule}：{subject}",
    "firing.text": "{message}。\n\n规则 {rule}，级别：{severity}，开始于 {since}。",
    "advice": "建议：{advice}。",
    "actions": "系统将自动处理：{actions}。",
    "once": "恢复后会再发一次通知，期间不重复发送。",
    "resolved.title": "[Muster] {rule} 已恢复：{subject}",
    "resolved.text": "已恢复：{message}。\n\n规则 {rule}，级别：{severity}，从 {since} 持续到 {until}。",
    "job.succeeded.title": "[Muster] 作业 {job} 已成功",
    "job.succeeded.text": "您的作业 {job} 运行 {lasted} 后成功结束。",
    "job.failed.title": "[Muster] 作业 {job} 失败",
    "job.failed.text": "您的作业 {job} 运行 {lasted} 后失败：{reason}",
    "job.cancelled.title": "[Muster] 作业 {job} 已停止",
    "job.cancelled.text": "您的作业 {job} 已停止：{reason}",
    "job.waiting.title": "[Muster] 作业 {job} 已等待 {lasted}",
    "job.waiting.text": "您的作业 {job} 在集群 {cluster} 上已等待 {lasted}。",
    "see": "详情见 {address}，或运行 `muster explain {job}`。",
    "settings": "您收到此通知是因为您的设置要求发送：`muster notices show`。",
    "test.title": "[Muster] 测试通知",
    "test.text": "这是一条测试通知，一切正常。",
    "severity.critical": "严重",
    "severity.warning": "警告",
    "severity.info": "提示",
    "action.cordon": "该节点不再接收新任务",
    "action.stop": "停止该作业",
    "action.tag": "给该作业加标签",
    "action.restart": "重新启动该作业",
    "action.stacks": "保存其任务的调用栈：muster stacks {name} --kept",
    "subject.server": "服务器",
}
WORDS: Mapping[str, Mapping[str, str]] = {"en": _EN, "zh": _ZH}


def said(language: str, key: str, **values: object) -> str:
    return WORDS.get(language, _EN)[key].format(**values)
