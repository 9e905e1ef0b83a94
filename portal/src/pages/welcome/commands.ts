import { quoted } from "@/parts/Command";

export interface NewNode {
  name: string;
  ssh: string;
  keyFile: string;
  /** Whether the key that the host shows first is accepted. */
  trusts: boolean;
}

export function addNodeCommand(node: NewNode, cluster: string): string {
  const line = ["muster node add", quoted(node.name || "gpu1"), "--ssh", quoted(node.ssh || "USER@HOST")];
  line.push("--cluster", quoted(cluster));
  if (node.keyFile) line.push("--key-file", quoted(node.keyFile));
  if (node.trusts) line.push("--accept-host-key");
  return line.join(" ");
}

/** The first job: it prints the name of the machine that it runs on. */
export const firstJob = (cluster: string) => ({
  name: "first-job",
  cluster,
  roles: { worker: { replicas: 1, command: "hostname" } },
});

export const firstJobCommand = (cluster: string): string =>
  `muster run --name first-job --cluster ${quoted(cluster)} -- hostname`;
