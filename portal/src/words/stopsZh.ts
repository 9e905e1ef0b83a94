/** Why attempts were stopped: the server says it in one of these sentences, with names in them. */
export const stopsZh: readonly (readonly [RegExp, string])[] = [
  [/^was preempted by another job$/, "被另一个作业抢占"],
  [/^was preempted by (.+)$/, "被 $1 抢占"],
  [/^was preempted: (.+) reclaimed what its virtual cluster had lent$/, "被抢占：$1 收回了其虚拟集群借出的资源"],
  [/^restarts with (\d+) tasks instead of (\d+)$/, "以 $1 个任务（原为 $2 个）重新启动"],
  [/^node (.+) is drained$/, "节点 $1 正在排空"],
  [/^killed by (.+)$/, "被 $1 终止"],
  [
    /^stopped early: its best of (\S+) at step (\d+) is worse than the median (\S+) of (\d+)$/,
    "提前停止：第 $2 步时的最佳值 $1 不及 $4 个成员的中位数 $3",
  ],
  [
    /^stopped early: (\d+) of (\d+) were better than (\S+) at step (\d+), (\d+) stay$/,
    "提前停止：第 $4 步时 $2 个中有 $1 个优于 $3，只保留 $5 个",
  ],
  [/^held by (.+)$/, "被 $1 挂起"],
];
