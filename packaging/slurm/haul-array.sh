#!/bin/sh
# One part of a job: a task of a Slurm array. Started by `submit`; what each choice is for: docs/fleet.md.
#   haul-array.sh MANIFEST REPORTS [OPTION…]
#SBATCH --job-name=haul
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=1
# Two minutes before the time limit (Slurm may be a minute early): haul ends with 75, its report written.
#SBATCH --signal=B:TERM@120
set -u
manifest=$1
reports=$2
shift 2
part=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))

# `wait`: a task that was requeued may meet the end of its former self.
"${HAUL:-haul}" run "$manifest" --shard auto --if-running wait --no-progress \
  --report "$reports/shard-$part.json" "$@" &
haul=$!
signalled=
trap 'signalled=1; kill -TERM "$haul" 2>/dev/null' TERM
wait "$haul"
status=$?
# A trapped signal ends `wait` before haul ends.
while [ -n "$signalled" ]; do
  signalled=
  wait "$haul"
  again=$?
  [ "$again" -eq 127 ] || status=$again
done

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
