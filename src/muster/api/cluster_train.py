"""The keys of `cluster_config(...)` in a configuration of Paddle's platform2, which are options of the command, too."""

KEYS = (
    "fs_name", "fs_ugi", "force_reuse_output_path", "work_dir", "has_meta_data", "train_data_path", "test_data_path",
    "train_meta_data_path", "test_meta_data_path", "output_path", "init_model_path", "pserver_model_dir",
    "pserver_model_pass", "save_dir", "loadsave_parameters_in_pserver", "enable_predict_output", "model_path", "port",
    "ports_num", "use_remote_sparse", "mail_address", "comment",
)  # fmt: skip
