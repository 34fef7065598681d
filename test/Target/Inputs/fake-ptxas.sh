#!/bin/sh
# Stands in for ptxas: prints the recorded output named by $FAKE_PTXAS and writes a cubin of four bytes.
# FAKE_PTXAS=hang sleeps; silent writes no cubin; crash dies by a signal. As --version it says release 12.2.
[ "$1" = "--version" ] && echo "Cuda compilation tools, release 12.2, V12.2.140" && exit 0
while [ $# -gt 0 ]; do
  [ "$1" = "-o" ] && output=$2
  shift
done
case "$FAKE_PTXAS" in
hang) exec sleep 60 ;;
silent) exit 0 ;;
crash) kill -SEGV $$ ;;
*) cat "$FAKE_PTXAS" ;;
esac
grep -q -E 'error|fatal' "$FAKE_PTXAS" && exit 255
printf '\177ELF' > "$output"
