import type { Told } from "./coded";

const OTHERS = "先查看其他 worker 的日志：很可能是其中一个更早失败或卡住了。";
const RETRIED = "作业本身无需修改，会自动重试。";
const FEWER_LOADERS = "减少数据加载进程，或请管理员增大节点的 /dev/shm。";
const MORE_MEMORY = "提高 resources.memory，或减小批大小和数据加载进程数。";
const SPELLING = "检查拼写，并确认 `runtime` 指定的环境中有该程序。";
const RELATIVE = "路径相对于代码包；请检查文件名，并确认数据已挂载到节点。";
const CRLF = "用 `dos2unix` 或 `sed -i 's/\\r$//'` 转换，并在 .gitattributes 中写 `*.sh text eol=lf`。";

const told = (message: string | string[], advice: string): Told => ({
  message: typeof message === "string" ? [message] : message,
  advice: [advice],
});

/** 任务失败的原因和建议，按故障代码列出（见 docs/reference/faults.md）。 */
export const faultsZh: Readonly<Record<string, Told>> = {
  "node-lost": told(
    ["{failed} 失败时节点 {node} 无法连接：{message}", "任务丢失：{message}", "任务运行期间，节点或其代理停止响应。"],
    "作业本身无需修改，会自动重试；有其他节点时会换节点。",
  ),
  "port-in-use": told("端口已被其他程序占用。", "会换端口重试；请让程序使用环境变量中的端口，不要写死端口。"),
  "disk-full": told("节点的磁盘已满。", "会自动重试；大文件请写到共享存储，若反复失败请管理员清理节点磁盘。"),
  prolog: told("节点的 prolog 失败，任务未启动：{message}", RETRIED),
  "no-ports": told("节点没有足够的空闲端口。", "会自动重试；若反复失败，请减少申请的端口。"),
  "too-many-tasks": told(
    "节点上的任务数已达上限，无法启动任务。",
    "会自动重试；若反复失败，请管理员检查该节点的任务。",
  ),
  package: told("代码包或输入文件无法使用：{message}", "重新提交以重新打包；指向目录之外的链接会被拒绝。"),
  "bad-request": told("节点拒绝了任务：{message}", "修正作业的命令、环境变量或文件后重新提交。"),
  image: told("无法拉取镜像：{message}", "检查 runtime.image 的名称，确认镜像已推送且集群有权拉取。"),
  "image-denied": told(
    "镜像仓库拒绝了该账号：{message}",
    "检查 runtime.image；私有镜像请用 `muster secret set NAME` 保存 docker config.json，并写入 runtime.pullSecret。",
  ),
  workdir: told("容器中没有起始目录：{message}", "在 runtime.workdir 中写镜像里存在的目录，或写 `image`。"),
  registry: told("暂时无法从镜像仓库获取镜像：{message}", "会自动重试；若反复失败，请检查仓库名称或联系管理员。"),
  "container-engine": told(
    "容器引擎未能启动容器：{message}",
    "检查 runtime.image 和挂载；`muster doctor` 可检查节点的容器引擎。",
  ),
  "engine-time-limit": told("集群因时间限制结束了作业：{message}", "设置集群允许的 timeLimit，并保存检查点以便续训。"),
  "engine-preempted": told("集群把节点让给了其他作业：{message}", RETRIED),
  "engine-requeued": told("集群把作业从节点上撤下并放回了自己的队列：{message}", RETRIED),
  "engine-start": told("集群的调度系统未能启动作业：{message}", "会自动重试；若反复失败，请管理员检查该节点。"),
  "login-unreachable": told(
    "计算节点无法连接集群的登录节点：{message}",
    "请管理员放行该端口，或在集群文件中设置 relayAddress 或 sharedFolder。",
  ),
  "too-large": told(
    "任务的命令、环境变量或文件超过允许的大小。",
    "把大的内容从 env、params 和命令移到代码包的文件中。",
  ),
  secret: told("作业的密钥无法使用：{message}", "用 `muster secret set NAME` 设置后重试。"),
  rejected: told("集群拒绝了作业：{message}", "修改被拒绝的部分，或换一个集群后重新提交。"),
  "launch-failed": told("节点无法启动任务：{message}", "会自动重试；若反复失败，请在该节点上运行 `muster doctor`。"),
  "time-limit": told(
    ["作业运行超过时间限制 {limit}，已被停止。", "作业达到时间限制，已被停止。"],
    "提高 timeLimit，或保存检查点后重新提交以续训。",
  ),
  memory: told(["任务使用的内存超过申请值（{limit}），已被终止。", "程序申请的内存超过可用的内存。"], MORE_MEMORY),
  "dependency-failed": told("所依赖的作业 {job} 以 {state} 结束。", "修复并重新运行该作业，然后重新提交本作业。"),
  "dependency-gone": told("所依赖的作业 {job} 已从历史中删除。", "从 `after` 中去掉它或换成其他作业后重新提交。"),
  stopped: told("任务按要求停止。", "无需处理。"),
  "setup-network": told(
    "setup 无法下载所需内容。",
    "检查节点能否访问软件源，或在 env 中设置 PIP_INDEX_URL；可用 retry.max 自动重试。",
  ),
  "setup-failed": told(
    "setup 失败，退出码 {exit_code}。",
    "`muster logs JOB --setup` 显示其输出；修正 `setup` 或相关文件后重新提交。",
  ),
  "missing-package": told("节点上无法进入代码包 {path}。", "`muster fs ls` 可查看是否存在；请其所有者开放读取权限。"),
  "ssh-unusable": told("任务之间无法通过 SSH 互连：{why}", "在节点或镜像中修复，或去掉作业中的 `ssh`。"),
  permission: told(
    ["程序无权使用 {path|other|third|fourth}。", "程序无权使用所需的文件。"],
    "授予读取或执行权限，或写到任务自己的目录。",
  ),
  "gpu-memory": told(
    [
      "GPU 显存不足：申请 {wanted}，共 {total}，空闲 {free}。",
      "GPU 显存不足：申请 {wanted}，空闲 {free}。",
      "GPU 显存不足：申请 {wanted}。",
      "GPU 显存不足。",
    ],
    "减小批大小或模型，或申请显存更大的 GPU（resources.gpuType）。",
  ),
  "gpu-hardware": told("节点的 GPU 损坏。", "会自动重试；请管理员排空该节点。"),
  "cuda-driver": told(
    "节点的 NVIDIA 驱动版本过低，不支持框架所用的 CUDA。",
    "安装面向较低 CUDA 版本的框架，或请管理员更新驱动。",
  ),
  "cuda-build": told("该环境中的框架不带 CUDA 支持。", "在 `runtime` 指定的环境中安装 GPU 版本，或在 CPU 上运行。"),
  "cuda-architecture": told("框架不支持该型号的 GPU。", "安装支持该 GPU 的版本，或选择其他 resources.gpuType。"),
  "no-gpu": told("程序需要 GPU，但任务没有分配 GPU。", "用 resources.gpu 申请，或让程序在 CPU 上运行。"),
  "gpu-number": told(
    "程序选择了任务没有的 GPU 编号。",
    "任务自己的 GPU 从 0 开始编号（LOCAL_RANK），不使用节点的编号。",
  ),
  "cuda-assert": told(
    "GPU 核函数中的断言失败，通常是索引或标签越界。",
    "检查标签范围和 embedding 大小；CUDA_LAUNCH_BLOCKING=1 可定位。",
  ),
  "cuda-access": told("GPU 核函数访问了非法内存。", "CUDA_LAUNCH_BLOCKING=1 可定位；检查自定义核函数和库版本。"),
  cudnn: told("cuDNN 失败：{status}", "检查 cuDNN、CUDA 与框架的版本是否匹配；显存不足也会导致此错误。"),
  "missing-rank": told(
    "分布式程序找不到环境变量 {variable|other}。",
    "使用 `--workers 2` 以上，写明框架（`framework: torch`），或用其启动器启动。",
  ),
  "missing-local-rank": told(
    "程序找不到由启动器设置的 LOCAL_RANK。",
    "用 `torchrun` 启动；每个任务一个进程时，每个 worker 申请一块 GPU 或写 `framework: torch`。",
  ),
  "paddle-launch": told(
    "Paddle 以单进程方式启动，各任务没有一起训练。",
    "直接调用 `python train.py`，不要用 Paddle 的启动器，或让每个任务独占一台机器（`where.spread: apart`）。",
  ),
  "mpi-slots": told(
    "mpirun 请求的进程数超过作业的槽位数。",
    "增加 worker 或减少进程；`--hostfile $MUSTER_TASK_DIR/$MUSTER_HOSTFILE` 给出槽位。",
  ),
  "mpi-root": told("mpirun 拒绝以 root 身份运行。", "给 mpirun 加 --allow-run-as-root，或换用任务有独立账号的集群。"),
  "mpi-hosts": told(
    "mpirun 无法在其他节点上启动辅助进程。",
    "mpirun 需要节点间免密 SSH；自带 rendezvous 的框架不需要。",
  ),
  "nccl-interface": told(
    "NCCL 找不到通往其他 worker 的网卡。",
    "在 NCCL_SOCKET_IFNAME（和 GLOO_SOCKET_IFNAME）中指定网卡，例如 eth0。",
  ),
  "nccl-timeout": told("集合通信（NCCL）超时：有 worker 没有参与。", OTHERS),
  nccl: told("NCCL 调用系统或驱动失败。", "会自动重试；NCCL_DEBUG=INFO 可显示具体调用，常见原因是 /dev/shm 或网卡。"),
  "nccl-peer": told("NCCL 连接另一端的 worker 消失了。", OTHERS),
  gloo: told("Gloo 无法连接某个 worker。", OTHERS),
  rendezvous: told("各 worker 未能按时全部汇合。", OTHERS),
  "peer-refused": told(
    ["{peer|other} 没有响应。", "与其他任务或服务的连接被拒绝。"],
    "检查应在该处监听的任务（例如 ps）是否先失败了。",
  ),
  "broken-pipe": told("程序写入了已关闭的管道或连接。", "检查哪个对端或子进程先结束；管道后面的程序应读到结尾。"),
  "peer-lost": told("其他任务或服务关闭了连接。", OTHERS),
  "name-resolution": told("节点无法解析主机名。", "检查名称；节点可能无法访问外网。"),
  "no-route": told("节点无法连接程序要访问的主机。", "先下载数据和模型再挂载；节点可能无法访问外网。"),
  "shared-memory": told("共享内存（/dev/shm）已满。", FEWER_LOADERS),
  "disk-quota": told("磁盘配额已用完。", "删除旧的检查点，或申请更大的配额。"),
  "host-memory": told(
    "节点内存耗尽，内核终止了程序。",
    "提高 resources.memory 以分配到空闲内存更多的节点，或减少内存占用。",
  ),
  "open-files": told("打开的文件数超过节点上限。", "及时关闭文件和数据加载器，或请管理员提高上限（ulimit -n）。"),
  crlf: told(["脚本 {path|other} 使用 Windows 换行（CRLF），找不到解释器。", "脚本使用 Windows 换行（CRLF）。"], CRLF),
  "missing-interpreter": told(
    "节点上没有脚本 {path|other} 的解释器 {command|interpreter}。",
    "在脚本首行写节点上有的解释器，或在命令中指定：`python3 script.py`。",
  ),
  "not-executable": told(
    ["脚本 {path} 没有执行权限。", "命令没有执行权限（退出码 126）。"],
    "用 `chmod +x` 加上执行权限，或在命令中写明解释器：`bash script.sh`。",
  ),
  "exec-format": told(
    "节点无法执行 {path}：没有指定解释器，或是为其他 CPU 编译的。",
    "在首行写 `#!/bin/sh` 或 `#!/usr/bin/env python3`，或在命令中写明解释器。",
  ),
  "no-shebang": told(
    "脚本 {path} 首行没有指定解释器，因而被 shell 而不是 Python 执行。",
    "运行 `python3 {path}`，或在首行写 `#!/usr/bin/env python3`。",
  ),
  "command-not-found": told(["找不到命令 {command|other|third}。", "节点或镜像中找不到该命令。"], SPELLING),
  "missing-file": told(["文件 {path|other|third|fourth} 不存在。", "程序要使用的文件不存在。"], RELATIVE),
  "missing-environment": told(
    "`runtime` 指定的环境 {path} 在节点上不存在或已损坏。",
    "`muster env list` 显示环境及其节点；`where.nodes` 可限定节点。",
  ),
  "environment-activation": told(
    "无法激活 conda 环境 {path}：{message}",
    "修复该环境 etc/conda/activate.d 中的脚本，或安装它的软件包。",
  ),
  "missing-module": told("未安装 Python 模块 {module|other}。", "在 `runtime` 指定的环境中安装，或加入代码包。"),
  "import-name": told("Python 模块 {module} 中没有 {name}。", "安装程序所需的版本，并检查是否有自己的文件与库同名。"),
  "missing-library": told(
    "节点缺少库 {library|other}。",
    "在 `runtime` 指定的环境中安装，或把其目录加入 LD_LIBRARY_PATH。",
  ),
  "old-system": told(
    "程序是为更新的系统编译的：节点缺少 {version}。",
    "在较旧的系统上编译，或在具备它的环境或镜像中运行。",
  ),
  "illegal-instruction": told(
    "程序使用了该节点 CPU 不支持的指令（SIGILL）。",
    "安装面向旧 CPU 的版本（例如不含 AVX-512），或使用较新的节点。",
  ),
  "read-only": told("程序写入了只读挂载的目录。", "写到任务自己的目录，或挂载时去掉 readOnly。"),
  "bad-arguments": told("程序无法识别参数：{message}", "修正作业的命令。"),
  syntax: told("程序有 Python 语法错误：{message}", "修正程序，并确认环境中的 Python 版本足够新。"),
  "not-a-number": told("训练发散：损失或梯度变为 NaN 或无穷大。", "降低学习率、裁剪梯度，或检查输入中的无效值。"),
  "paddle-precondition": told(
    "Paddle 操作的前提条件不满足：{message}",
    "检查使用前是否已全部初始化（fleet.init、place、program）。",
  ),
  "paddle-argument": told("操作收到无效参数：{message|other}", "检查输入的形状、类型和设备。"),
  "paddle-external": told("Paddle 底层的库失败：{message|other}", "检查驱动、CUDA 与 Paddle 的版本是否匹配。"),
  "python-bug": told(["程序出错：{error}: {message}", "程序出错。"], "请修正程序：重试会以同样方式失败。"),
  "python-exception": told(
    ["程序以异常结束：{exception}", "程序以异常结束。"],
    "日志中的 traceback 显示位置；可设置 retry.max 自动重试。",
  ),
  hangup: told("程序收到挂断信号（SIGHUP）。", "作业脚本关闭了会话；请让程序忽略 SIGHUP。"),
  interrupted: told("程序被中断（SIGINT）。", "准备好后重新提交。"),
  aborted: told("程序自行中止（SIGABRT），通常是原生代码中的检查失败。", "查看日志中中止前的最后一条信息。"),
  "bus-error": told("程序遇到总线错误（SIGBUS），通常是共享内存已满。", FEWER_LOADERS),
  arithmetic: told("程序因算术错误停止，例如整数除以零（SIGFPE）。", "检查除数和空批次。"),
  killed: told(
    "程序被外部终止（SIGKILL），通常是节点内存耗尽。",
    "提高 resources.memory 以减少同节点的任务，或减少内存占用。",
  ),
  segfault: told("程序因非法内存访问崩溃（SIGSEGV）。", "检查原生扩展和库版本；PYTHONFAULTHANDLER=1 可显示崩溃位置。"),
  terminated: told("程序被终止（SIGTERM），但不是由 Muster 发出。", "检查是否由作业自己的启动器或节点上的其他人停止。"),
  "cpu-time": told("程序用完了节点允许的 CPU 时间（SIGXCPU）。", "请管理员提高上限（ulimit -t）。"),
  "file-size": told("程序写入的文件超过节点允许的大小（SIGXFSZ）。", "拆分文件，或请管理员提高上限（ulimit -f）。"),
  signal: told("程序被信号 {signal} 终止。", "日志末尾可能说明原因；可设置 retry.max 自动重试。"),
  "command-timeout": told("命令中的 `timeout` 到时（退出码 124）。", "延长内部的 timeout，或改用作业的 timeLimit。"),
  exit: told("程序以退出码 {exit_code} 结束。", "日志末尾应说明原因；可设置 retry.max 自动重试。"),
  "no-exit-code": told("任务消失且没有退出码，节点可能重启过。", RETRIED),
};
