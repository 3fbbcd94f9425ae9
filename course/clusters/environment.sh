# For a scheduler and workers that you start yourself, on every cluster: `source environment.sh`, in each shell that starts
# one, and in the one that runs `graded-kernels grade ASSIGNMENT --scheduler ADDRESS`.
#
# Makes a certificate the first time. Whoever can read it can run code in the workers: it is for your account alone, on a
# file system that the machines of the cluster share.

certificates="${CERTIFICATES:-$HOME/.dask-certificates}"
mkdir -p -m 700 "$certificates"
if [ ! -e "$certificates/cert.pem" ]; then
    (umask 077 && openssl req -x509 -newkey rsa:3072 -nodes -days 180 -subj /CN=grading \
        -keyout "$certificates/key.pem" -out "$certificates/cert.pem" 2>/dev/null)
fi
export DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$certificates/cert.pem"
for role in SCHEDULER WORKER CLIENT; do
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$certificates/cert.pem"
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$certificates/key.pem"
done
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True
export DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=2 # three lost workers, and a check is left to a person

# As `graded-kernels grade` has them for workers of its own (autograder/judge/verdicts/scheduler.py and classroom/cluster.py say why).
export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False
export DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL=1s DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL=5s
export MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=33554432
