/** The experiment that everybody has, which all jobs are in. */
const DEFAULT = "0";

/** What finds the runs of an experiment of MLflow's client among all experiments. */
export const labelsOfExperiment = (id: string): { label?: string[] } =>
  id === DEFAULT ? {} : { label: [`experiment=${id}`] };
