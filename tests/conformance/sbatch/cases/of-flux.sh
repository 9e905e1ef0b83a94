#!/bin/bash
# flux: -N 2
#flux: --nslots=4
python train.py
