#!/bin/sh
# A cron job that every machine of a cluster has, and that runs on one machine each night.
#
# Shows `zklock run -n`, which gives up at once if the job runs elsewhere, with exit status 75. Here
# -E makes that 0, because cron need not report it. The token is compared and written with the
# result, under a lock of the folder (flock), so a job that was stopped for an hour cannot overwrite
# a newer result. The lock is held for a minute more, also after a failure, so that a machine whose
# clock is late does not find it free.
#
#     0 3 * * *  ZK_HOSTS=zk1:2181,zk2:2181,zk3:2181 /usr/local/bin/nightly.sh /srv/reports
set -eu
PATH=$PATH:/usr/local/bin # where `make install` puts zklock, and cron does not look
folder=${1:-/tmp/reports}
lock=/examples/nightly

if [ "${ZKLOCK_PATH:-}" != "$lock" ]; then # not under the lock yet, but perhaps under another
    exec zklock run -n -E 0 "$lock" "$0" "$folder"
fi

trap 'sleep "${NIGHTLY_KEEP:-60}"' EXIT
mkdir -p "$folder"
sleep 1 # the report
(
    flock 9
    last=$(cat "$folder/token" 2>/dev/null || echo 0)
    if [ "$ZKLOCK_TOKEN" -lt "$last" ]; then
        echo "nightly: a later run has written its report: this one is thrown away" >&2
        exit 1
    fi
    echo "$ZKLOCK_TOKEN" >"$folder/token"
    echo "report of $(hostname)" >>"$folder/reports"
) 9>"$folder/lock"
