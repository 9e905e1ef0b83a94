// Every text of the page, in both languages.

const WORDS = {
  en: {
    login: "Log in", logout: "Log out", user: "User", password: "Password, or a token", jobs: "Jobs",
    signInWith: "Sign in with {name}",
    filter: "Filter", name: "Name", state: "State", mode: "Mode", owner: "Owner", workers: "Workers",
    started: "Started", ended: "Ended", reason: "Reason", cpu: "CPU", memory: "Memory", gpu: "GPU",
    tasks: "Tasks", back: "All jobs", kill: "Stop this job", node: "Node", exit: "Exit code",
    log: "Log", worker: "Worker", stick: "Scroll automatically", more: "Show more", everyone: "All workers",
    live: "live", lost: "connection lost, reconnecting…",
    noJobs: "There are no jobs yet. Start one with: muster run -- COMMAND",
    noMatch: "No job matches the filter.", cut: "… the beginning is not shown; muster logs prints the whole log …\n",
    sure: "Stop job {name}? Its workers will be stopped; its logs are kept.", wrong: "The user or password is wrong.",
    unsafe: "Tasks of different users are not isolated on {clusters}: they can reach each other and the server. Let in only users who trust each other, limit its access, or change its isolation.",
    others: "Not made with Muster", origin: "Origin", namespace: "Namespace",
    notMuster: "This job was not made with Muster, which does not keep its log.",
    unreachable: "The server does not answer.", notYours: "Only the owner and admins may read this log.",
    waited: "waited {time}", ran: "ran {time}", cpuTime: "{time} of CPU", peakMemory: "{amount} of memory at most",
    gpuBusy: "GPUs at {percent} %",
    attempt: "attempt {n}", noLog: "No output yet.", amount: "{used} of {total}",
    nodes: "Nodes", cluster: "Cluster", every: "All", alerting: "With alerts", disk: "Disk", network: "Network",
    gpus: "GPUs", model: "Model", load: "Load", temperature: "Temp.", power: "Power", who: "Used by",
    openAll: "Expand all", closeAll: "Collapse all",
    noNodes: "There are no nodes yet. Add one with: muster node add NAME --ssh HOST",
    noNodeMatches: "No node matches the filter.", oneNode: "1 node", nodesNumber: "{n} nodes", since: "since {ago}",
    someGiven: "{used} of {total} allocated", someOut: "{n} out of service", moreAlerts: "and {n} more",
    in: "received {rate}", out: "sent {rate}", netIn: "Network received", netOut: "Network sent",
    atMost: "{now}, peak {most}",
    loadOf: "{now}, load {load}", diskAt: "{amount} on {mount}", free: "free", partOfIt: "{job} ({used} of it)",
    outOfService: "out of service: {why}", stillHas: "{out}; {job} still uses it", given: "Allocated",
    loginBy: "Login", labels: "Labels", foundThere: "Found", note: "Note", taskOf: "{state}, owned by {owner}",
    hiddenTasks: "{n} more tasks of private jobs", noTasks: "No tasks run on this node.",
    nothingHeard: "There are no metrics of this node yet.",
    lastHeard: "The node does not answer. These are its last metrics.",
    givenOf: "CPU {cpu}, memory {memory}", byOthers: "Used by others",
    othersHave: "CPU {cpu}, memory {memory}, GPUs {gpus}", partitions: "Partitions", inUse: "in use",
    gpuNumber: "GPU {index}", gpusGiven: "{used} of {total} GPUs allocated",
  },
  zh: {
    login: "登录", logout: "退出", user: "用户", password: "密码或令牌", jobs: "作业",
    signInWith: "使用 {name} 登录",
    filter: "筛选", name: "名称", state: "状态", mode: "模式", owner: "所有者", workers: "任务",
    started: "开始", ended: "结束", reason: "原因", cpu: "CPU", memory: "内存", gpu: "GPU",
    tasks: "任务数", back: "全部作业", kill: "停止此作业", node: "节点", exit: "退出码",
    log: "日志", worker: "任务", stick: "自动滚动", more: "显示更多", everyone: "全部任务",
    live: "实时", lost: "连接中断，正在重新连接…", noJobs: "还没有作业。运行 muster run -- 命令 即可提交。",
    noMatch: "没有符合筛选条件的作业。", cut: "… 开头部分未显示；用 muster logs 可查看完整日志 …\n",
    sure: "确定停止作业 {name}？其任务将被停止，日志会保留。", wrong: "用户名或密码错误。",
    unsafe: "{clusters} 上不同用户的任务没有隔离：它们可以互相访问，也可以访问服务器。请只允许互相信任的用户使用，限制其访问权限，或更改其隔离方式。",
    others: "非 Muster 提交的作业", origin: "来源", namespace: "命名空间",
    notMuster: "此作业不是通过 Muster 提交的，Muster 不保存其日志。",
    unreachable: "服务器没有响应。", notYours: "只有所有者和管理员可以查看此日志。",
    waited: "等待 {time}", ran: "运行 {time}", cpuTime: "CPU 时间 {time}", peakMemory: "内存峰值 {amount}",
    gpuBusy: "GPU 利用率 {percent} %",
    attempt: "第 {n} 次尝试", noLog: "暂无输出。", amount: "{used} / {total}",
    nodes: "节点", cluster: "集群", every: "全部", alerting: "有告警", disk: "磁盘", network: "网络",
    gpus: "GPU", model: "型号", load: "负载", temperature: "温度", power: "功率", who: "使用者",
    openAll: "全部展开", closeAll: "全部收起", noNodes: "还没有节点。运行 muster node add 名称 --ssh 主机 即可添加。",
    noNodeMatches: "没有符合筛选条件的节点。", oneNode: "1 个节点", nodesNumber: "{n} 个节点", since: "始于 {ago}",
    someGiven: "已分配 {used} / {total}", someOut: "{n} 个已停用", moreAlerts: "还有 {n} 条告警",
    in: "接收 {rate}", out: "发送 {rate}", netIn: "网络接收", netOut: "网络发送", atMost: "{now}，峰值 {most}",
    loadOf: "{now}，负载 {load}", diskAt: "{amount}，挂载于 {mount}", free: "空闲", partOfIt: "{job}（占 {used}）",
    outOfService: "已停用：{why}", stillHas: "{out}；{job} 仍在使用", given: "已分配",
    loginBy: "登录方式", labels: "标签", foundThere: "检测到", note: "备注", taskOf: "{state}，所有者 {owner}",
    hiddenTasks: "另有 {n} 个私有作业的任务", noTasks: "该节点上没有运行任务。", nothingHeard: "还没有该节点的监控数据。",
    lastHeard: "节点没有响应，以下是最后收到的监控数据。",
    givenOf: "CPU {cpu}，内存 {memory}", byOthers: "其他作业占用",
    othersHave: "CPU {cpu}，内存 {memory}，GPU {gpus}", partitions: "分区", inUse: "使用中",
    gpuNumber: "GPU {index}", gpusGiven: "已分配 {used} / {total} 个 GPU",
  },
};
export const language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";

export function word(key, values = {}) {
  return WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export function translatePage() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = word(element.dataset.text);
  }
}
