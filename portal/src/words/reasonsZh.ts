import type { Told } from "./coded";

const ROOM: readonly string[] = ["有作业结束并释放资源后即可启动；减少申请的资源可能更快启动。"];

const GANG = "[（{gang} 个任务同时启动）]";
/** What takes no job now. */
const BESIDES =
  "[，另有 {out_of_service} 块停用][，{cordoned} 个节点被隔离][，{draining} 个节点正在排空][，{unreachable} 个节点无法连接][，{joining} 个节点正在加入]";

/** 作业等待、挂起或停止的原因，按代码列出。 */
export const reasonsZh: Readonly<Record<string, Told>> = {
  "backing-off": {
    message: ["{seconds} 秒后重试"],
    advice: ["到时间后会自动启动。"],
  },
  behind: {
    message: ["排在 {behind} 之后，前面还有 {ahead} 个作业", "排在 {behind} 之后"],
    advice: ["{behind} 启动或离开队列后会前移。"],
  },
  "being-left": {
    message: ["资源已分配，正在等待原有的 {leaving} 个作业停止"],
    advice: ["它们停止后立即启动，最迟到宽限期结束。"],
  },
  reserved: {
    message: ["空闲资源已预留给 {for}"],
    advice: ["如果 timeLimit 足够短、能在此之前结束，就可以提前启动。"],
  },
  share: {
    message: ["{vc} 最多可用 {most}，启动后将达到 {would}", "{vc} 的保证配额已用完，当前不能再借用"],
    advice: ["该虚拟集群的其他作业结束后启动。"],
  },
  limit: {
    message: [
      "{user} 在 {vc} 中已用 {used}，上限为 {allowed}（{limit}）",
      "{vc} 已用 {used}，上限为 {allowed}（{limit}）",
    ],
    advice: ["部分用量释放或上限提高后启动。"],
  },
  reclaimed: {
    message: ["被抢占：{for} 收回了借出的资源"],
    advice: ["有空闲资源后会自动恢复。"],
  },
  preempted: { message: ["被 {for} 抢占"], advice: ["有空闲资源后会自动恢复。"] },
  resize: { message: ["将以 {after} 个任务重新启动（原为 {before} 个）"], advice: ["会立即重新启动。"] },
  never: { message: ["集群无法满足该作业的要求：{message}"], advice: ["请减少申请的资源，或换一个集群。"] },
  fragmented: {
    message: [
      `需要 {needs}${GANG}，当前空闲 {free}，但分散在 {nodes} 个节点上，单个节点不足 {on_one}${BESIDES}`,
      `需要 {needs}${GANG}，当前空闲 {free}，但过于分散，放不下${BESIDES}`,
      "空闲资源过于分散，放不下该作业",
    ],
    advice: ["某个节点上的作业结束后启动；减少单个任务的资源可立即启动。"],
  },
  "no-free-gpu": {
    message: [`需要 {needs} 块[ {models}] GPU${GANG}，当前空闲 {free} 块${BESIDES}`, "没有足够的空闲 GPU"],
    advice: ROOM,
  },
  "no-free-cpu": {
    message: [`需要 CPU {needs}${GANG}，当前空闲 {free}${BESIDES}`, "没有足够的空闲 CPU"],
    advice: ROOM,
  },
  "no-free-memory": {
    message: [`需要 {needs} 内存${GANG}，当前空闲 {free}${BESIDES}`, "没有足够的空闲内存"],
    advice: ROOM,
  },
  "no-free-device": {
    message: [`需要 {needs} 个 {kind}${GANG}，当前空闲 {free} 个${BESIDES}`, "没有足够的空闲设备"],
    advice: ROOM,
  },
  "no-free-task": { message: ["节点上的任务数已达上限，放不下 {tasks} 个任务"], advice: ROOM },
  "no-free-node": { message: ["没有可用的节点"], advice: ROOM },
  "no-node": {
    message: ["{wanted} 个任务各需一个节点，当前只有 {free} 个可用", "没有可用的节点：{message}"],
    advice: ["`muster get nodes` 会说明原因；也可以修改 `where`。"],
  },
  "not-in-order": {
    message: ["节点缺少所需的目录或程序：{message}"],
    advice: ["请管理员修复这些节点。"],
  },
  dependency: {
    message: ["等待作业 {jobs}", "所依赖的作业刚刚结束"],
    advice: ["{jobs} 结束后启动。", "会自动启动。"],
  },
  sending: { message: ["正在向节点传输文件（{progress}）"], advice: ["全部到达后启动。"] },
  setup: { message: ["正在 {nodes} 上执行 setup"], advice: ["可用 `muster logs JOB --setup -f` 查看输出。"] },
  engine: {
    message: ["在 {cluster} 的队列中等待：{said}", "在 {cluster} 的队列中等待"],
    advice: ["由集群自己的调度系统启动。"],
  },
  "engine-stuck": {
    message: ["在 {cluster} 的队列中无法启动：{said}", "在 {cluster} 的队列中无法启动"],
    advice: ["等待不会解决问题：请修改作业，或联系集群管理员。"],
  },
  "engine-note": { message: ["{message}"], advice: [] },
  "unknown-capacity": {
    message: ["集群 {cluster} 的资源情况未知：{why}"],
    advice: ["可用 `muster describe cluster/{cluster}` 查看。"],
  },
  "cluster-removed": {
    message: ["集群 {cluster} 的配置文件已被删除，不再启动新作业"],
    advice: ["请把作业移到其他集群，或请管理员恢复配置。"],
  },
  held: { message: ["被 {by} 挂起"], advice: ["恢复后重新排队。"] },
  "killed-by": { message: ["被 {by} 停止"], advice: ["可以重新提交。"] },
};

/** 告警，按类别列出。 */
export const alertsZh: Readonly<Record<string, Told>> = {
  "node-unreachable": { message: ["节点 {name} 无法连接"], advice: ["检查该节点的网络和 SSH 服务。"] },
  "node-held": { message: ["节点 {name} 不接受新任务"], advice: ["`muster describe node/{name}` 显示详情。"] },
  "node-problem": { message: ["节点 {name} 有问题：{message}"], advice: ["`muster describe node/{name}` 显示详情。"] },
  "node-disk": { message: ["节点 {name} 的磁盘已用 {percent}%"], advice: ["清理该节点的磁盘空间。"] },
  "gpu-out-of-service": {
    message: ["节点 {node} 的 GPU {index}（{model}）已停用"],
    advice: ["请检查硬件或重启节点。"],
  },
  "cluster-unreachable": { message: ["集群 {name} 无法连接"], advice: ["检查登录节点和网络。"] },
  "cluster-file": {
    message: ["集群配置文件 {file} 有误：{message}"],
    advice: ["修正后用 `muster cluster check` 检查。"],
  },
  "job-needs-action": { message: ["作业 {name} 不会自行启动，需要处理"], advice: ["请修改作业，或联系管理员。"] },
  "idle-allocation": { message: ["作业 {name} 占用的 GPU 长时间空闲"], advice: ["如不再需要，请停止该作业。"] },
  "kept-data": { message: ["保留的数据接近或超过上限：{message}"], advice: ["删除旧作业以释放空间。"] },
  "server-disk": { message: ["服务器磁盘已用 {percent}%"], advice: ["请管理员清理磁盘空间。"] },
  "log-server": {
    message: ["作业记录无法发送到日志服务器 {address}，{waiting} 条等待发送"],
    advice: ["请管理员启动日志服务器，或检查设置 `logServer`。"],
  },
  "server-held": {
    message: ["数据库由备份恢复，暂不启动或停止任何作业"],
    advice: ["请管理员执行 `muster server release`。"],
  },
};
