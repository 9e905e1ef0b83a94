// Every text of the page, in both languages.

const WORDS = {
  en: {
    login: "Log in", logout: "Log out", user: "User", password: "Password, or a token", jobs: "Jobs",
    filter: "Filter", name: "Name", state: "State", mode: "Mode", owner: "Owner", workers: "Workers",
    started: "Started", ended: "Ended", reason: "Reason", cpu: "CPU", memory: "Memory", gpu: "GPU",
    tasks: "Tasks", back: "All jobs", kill: "Stop this job", node: "Node", exit: "Exit code",
    log: "Log", worker: "Worker", stick: "Keep to the end", more: "Show more", everyone: "All workers",
    live: "live", lost: "connection lost, trying again…", noJobs: "No jobs yet: muster run -- COMMAND makes one.",
    noMatch: "No job matches the filter.", cut: "… the beginning is not shown; muster logs has all of it …\n",
    sure: "Stop job {name}? Its workers are asked to end; its logs stay.", wrong: "Wrong user or password.",
    unreachable: "The server does not answer.", notYours: "Only the owner and admins may read this log.",
    attempt: "attempt {n}", noLog: "No output yet.", amount: "{used} of {total}",
    machines: "Machines", cluster: "Cluster", every: "All", alerting: "With alerts", disk: "Disk", network: "Network",
    gpus: "GPUs", model: "Model", load: "Load", temperature: "Temp.", power: "Power", who: "Who",
    openAll: "Open all", closeAll: "Close all", noNodes: "No nodes yet: muster node add NAME --ssh HOST adds one.",
    noNodeMatches: "No node matches the filter.", oneNode: "1 node", nodesNumber: "{n} nodes", since: "since {ago}",
    someGiven: "{used} of {total} given", someOut: "{n} out of service", moreAlerts: "and {n} more",
    in: "in {rate}", out: "out {rate}", netIn: "Network in", netOut: "Network out", atMost: "{now}, at most {most}",
    loadOf: "{now}, load {load}", diskAt: "{amount} at {mount}", free: "free", partOfIt: "{job} ({used} of it)",
    outOfService: "out of service: {why}", stillHas: "{out}; {job} still has it", given: "Given",
    loginBy: "Login", labels: "Labels", foundThere: "Found there", note: "Note", taskOf: "{state}, of {owner}",
    hiddenTasks: "{n} more of private jobs", noTasks: "No tasks there.", nothingHeard: "Nothing was heard of it yet.",
    lastHeard: "It does not answer: this is what was heard last.",
    givenOf: "CPU {cpu}, memory {memory}", gpuNumber: "GPU {index}", gpusGiven: "{used} of {total} GPUs given",
  },
  zh: {
    login: "登录", logout: "退出", user: "用户", password: "密码或令牌", jobs: "作业",
    filter: "筛选", name: "名称", state: "状态", mode: "模式", owner: "所有者", workers: "任务",
    started: "开始", ended: "结束", reason: "原因", cpu: "CPU", memory: "内存", gpu: "GPU",
    tasks: "任务数", back: "全部作业", kill: "停止此作业", node: "节点", exit: "退出码",
    log: "日志", worker: "任务", stick: "跟随末尾", more: "显示更多", everyone: "全部任务",
    live: "实时", lost: "连接中断，正在重试…", noJobs: "还没有作业：运行 muster run -- 命令 即可创建。",
    noMatch: "没有符合筛选条件的作业。", cut: "… 开头部分未显示；用 muster logs 可查看全部 …\n",
    sure: "停止作业 {name}？其任务将被要求结束，日志会保留。", wrong: "用户名或密码错误。",
    unreachable: "服务器没有响应。", notYours: "只有所有者和管理员可以查看此日志。",
    attempt: "第 {n} 次尝试", noLog: "暂无输出。", amount: "{used} / {total}",
    machines: "机器", cluster: "集群", every: "全部", alerting: "有告警", disk: "磁盘", network: "网络",
    gpus: "GPU", model: "型号", load: "负载", temperature: "温度", power: "功率", who: "使用者",
    openAll: "全部展开", closeAll: "全部收起", noNodes: "还没有节点：运行 muster node add 名称 --ssh 主机 即可添加。",
    noNodeMatches: "没有符合筛选条件的节点。", oneNode: "1 个节点", nodesNumber: "{n} 个节点", since: "自 {ago}",
    someGiven: "已分配 {used} / {total}", someOut: "{n} 个停用", moreAlerts: "还有 {n} 条",
    in: "入 {rate}", out: "出 {rate}", netIn: "网络流入", netOut: "网络流出", atMost: "{now}，最高 {most}",
    loadOf: "{now}，负载 {load}", diskAt: "{amount}，位于 {mount}", free: "空闲", partOfIt: "{job}（占 {used}）",
    outOfService: "停用：{why}", stillHas: "{out}；{job} 仍在使用", given: "已分配",
    loginBy: "登录方式", labels: "标签", foundThere: "已发现", note: "备注", taskOf: "{state}，属于 {owner}",
    hiddenTasks: "另有 {n} 个属于私有作业", noTasks: "没有任务。", nothingHeard: "尚未收到任何数据。",
    lastHeard: "节点没有响应：以下是最后收到的数据。",
    givenOf: "CPU {cpu}，内存 {memory}", gpuNumber: "GPU {index}", gpusGiven: "已分配 {used} / {total} 个 GPU",
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
