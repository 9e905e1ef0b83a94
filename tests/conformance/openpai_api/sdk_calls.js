// Calls a server with OpenPAI's own JavaScript SDK, and prints what each call came to, as JSON.
// Usage: node sdk_calls.js FOLDER URL USER PASSWORD JOB, where FOLDER has the SDK.
const { createRequire } = require("module");

const [folder, url, username, password, name] = process.argv.slice(2);
const { PAIV2 } = createRequire(`${folder}/`)("@microsoft/openpai-js-sdk");
const cluster = { rest_server_uri: `${url}/rest-server`, username, password, https: false };
const client = new PAIV2.OpenPAIClient(cluster);
const config = {
  protocolVersion: 2,
  name,
  type: "job",
  taskRoles: {
    worker: {
      instances: 1,
      resourcePerInstance: { cpu: 1, memoryMB: 64, gpu: 0 },
      commands: ["echo said by the SDK"],
    },
  },
};
const calls = {
  info: () => client.api.getClusterInfo(),
  login: () => client.authn.basicLogin(username, password),
  created: () => client.job.createJob(config),
  ended: () => ended(),
  listed: () => client.job.listJobs({ username, state: "SUCCEEDED", withTotalCount: true }),
  attempt: () => client.job.getJob(username, name, 0),
  config: () => client.job.getJobConfig(username, name),
  tagged: () => client.job.addTag(username, name, "best"),
  untagged: () => client.job.deleteTag(username, name, "best"),
  task: () => client.job.getTask(username, name, 0, "worker", 0),
  logs: () => client.job.getTaskLogs(username, name, 0, "worker", 0, 0, true),
  events: () => client.job.listEvents(username, name, { type: "Normal" }),
  history: () => client.jobHistory.getJobAttempts(username, name),
  health: () => client.jobHistory.getJobAttemptsHealthz(username, name),
  stopped: () => client.job.updateJobExecutionType(username, name, "STOP"),
  clusters: () => client.virtualCluster.listVirtualClusters(),
  cluster: () => client.virtualCluster.getVirtualCluster("default"),
  skus: () => client.virtualCluster.getVirtualClusterSkuTypes("default"),
  user: () => client.user.getUser(username),
  users: () => client.user.getAllUser(),
  groups: () => client.group.getAllGroup(),
  members: () => client.group.getGroupMembers("default"),
  storages: () => client.storage.getStorages(),
  tokens: () => client.token.getTokens(),
  application: () => client.token.createApplicationToken(),
  again: () => client.job.createJob(config),
  missing: () => client.job.getJob(username, "nothing"),
  wrong: () => client.authn.basicLogin(username, "wrong"),
  logout: () => client.authn.basicLogout(),
};

async function ended() {
  for (;;) {
    const found = await client.job.getJob(username, name);
    if (found.jobStatus.completedTime) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function main() {
  const answers = {};
  for (const [what, call] of Object.entries(calls)) {
    try {
      answers[what] = await call();
    } catch (error) {
      answers[what] = { refused: error.message };
    }
  }
  console.log(JSON.stringify(answers));
}

main();
