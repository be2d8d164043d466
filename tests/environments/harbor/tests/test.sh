#!/bin/sh
# Root, in the student's working directory; expected.sh shows that the whole folder is there.
. /tests/expected.sh
echo "checking as $(id -u) in $(pwd)"
case "$(cat greeting.txt 2>/dev/null)" in
"$EXPECTED") echo 1 >/logs/verifier/reward.txt ;;
silent) ;;
hang) sleep 600 ;;
json) echo '{"reward": 0.5, "style": 1}' >/logs/verifier/reward.json ;;
*) echo 0 >/logs/verifier/reward.txt ;;
esac
exit "$status"
