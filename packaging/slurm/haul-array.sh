#!/bin/sh
# One part of a job: a task of a Slurm array. Started by `submit`; what each choice is for: docs/fleet.md.
#   haul-array.sh MANIFEST REPORTS [OPTION…]
#SBATCH --job-name=haul
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=1
# Two minutes before the time limit (Slurm may be a minute early), to haul itself: it ends with 75, its report written.
#SBATCH --signal=TERM@120
set -u
manifest=$1
reports=$2
shift 2
part=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))

# srun would end with ENOENT, 2, which is a word of haul's as well.
command -v "${HAUL:-haul}" >/dev/null || { echo "haul: no \`${HAUL:-haul}\` on $(hostname)" >&2; exit 66; }
# What ends srun itself is no answer of haul's: the task is queued again.
export SLURM_EXIT_ERROR=75
# A step of its own: it can be killed, and this script lives to queue the task again.
# `wait`: a task that was requeued may meet the end of its former self.
srun --ntasks=1 ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"} \
  "${HAUL:-haul}" run "$manifest" --shard auto --if-running wait --no-progress \
  --report "$reports/shard-$part.json" "$@"
status=$?

echo "haul: part $part ended with $status, restart ${SLURM_RESTART_COUNT:-0}"
case $status in
  # Done; or another try changes nothing: failed for good, command line, manifest, input, defect, state.
  0 | 1 | 64 | 65 | 66 | 70 | 73) exit "$status" ;;
esac
# 75, 2: work is left that can go on. 76, and all above 128: killed, by whatever it was.
if [ "${SLURM_RESTART_COUNT:-0}" -ge "${HAUL_RESTARTS:-50}" ]; then exit "$status"; fi
scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" || exit "$status"
# Slurm ends this task, and queues it again.
sleep 60
exit "$status"
