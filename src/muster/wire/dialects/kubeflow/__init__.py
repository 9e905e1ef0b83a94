"""Jobs of Kubeflow: one module for each kind of the Training Operator, and TrainJobs."""
