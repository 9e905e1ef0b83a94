#!/bin/bash
#PBS -l nodes=1:ppn=4
#PBS -N other
./run
