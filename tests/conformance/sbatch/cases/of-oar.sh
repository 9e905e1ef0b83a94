#!/bin/bash
#OAR -l nodes=2,walltime=1:00
#OAR -n train
python train.py
