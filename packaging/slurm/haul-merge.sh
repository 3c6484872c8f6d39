#!/bin/sh
# One report of the reports of all parts. Started by `submit`, when the array has ended.
#   haul-merge.sh REPORTS
#SBATCH --job-name=haul-merge
#SBATCH --ntasks=1
set -u
# A part that is missing is no reason for no report: the report says which.
"${HAUL:-haul}" report merge "$1"/shard-*.json --output "$1/report.json" ||
  exec "${HAUL:-haul}" report merge --partial "$1"/shard-*.json --output "$1/report.json"
