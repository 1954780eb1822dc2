#!/usr/bin/env bash
# Runs the README's two commands, `make serve` and `make test`, in a fresh clone of this checkout's last commit
# on a bare Debian: a chroot made by debootstrap (variant minbase) with Go, make, git and certificates, without
# /etc/machine-id, in mount and process namespaces of its own.
#
#   tools/fresh-machine.sh              everything, about 20 minutes on two cores
#   tools/fresh-machine.sh --keep DIR   keep the chroot in DIR; the next call uses it again with a new clone
#   SUITE=trixie tools/fresh-machine.sh another Debian (default: bookworm)
#
# It needs root and debootstrap. Go is this machine's, mounted read-only; so are its certificates, name
# resolution and GOPROXY. The network is this machine's too, because the commands download packages and
# modules, so port 8778 must be free. Exit code 0: both commands worked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checkout=$PWD
suite=${SUITE:-bookworm}

say() { printf 'fresh-machine: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# ---- Inside the chroot ----------------------------------------------------

# serve_answers starts `make serve`, waits for it, asks it for its versions and stops it.
serve_answers() {
    local log=/tmp/serve.log server reply=
    make serve >"$log" 2>&1 &
    server=$!
    for _ in $(seq 900); do
        grep -q '^Berth is listening' "$log" && break
        kill -0 "$server" 2>/dev/null || { cat "$log"; die "'make serve' ended by itself"; }
        sleep 1
    done
    exec 3<>/dev/tcp/127.0.0.1/8778 || { cat "$log"; die "'make serve' does not listen on 127.0.0.1:8778"; }
    printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    reply=$(cat <&3)
    exec 3>&-
    [[ $reply == *'"max_version": "1.39"'* || $reply == *'"max_version":"1.39"'* ]] || { cat "$log"; die "unexpected answer: $reply"; }
    # Ctrl-C at a terminal reaches make, `go run` and berth; here berth alone is asked, and the others end with it.
    local process
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/exe") != */exe/berth ]] || kill -INT "${process#/proc/}"
    done
    wait "$server" || { cat "$log"; die "'make serve' did not end well"; }
}

inside() {
    [ ! -e /etc/machine-id ] || die "the chroot has a machine id"
    cd /berth
    say "make serve"
    serve_answers
    say "make test"
    make test
}

# ---- Outside --------------------------------------------------------------

# namespaced mounts what the chroot needs; the mounts and all processes end with the namespaces.
namespaced() {
    local root=$1
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --make-rslave "$root/dev"
    mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || say "no /sys in the chroot"
    mkdir -p "$root/usr/local/go"
    mount --bind "$(go env GOROOT)" "$root/usr/local/go"
    mount -o remount,bind,ro "$root/usr/local/go"
    exec chroot "$root" /usr/bin/env -i \
        HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 GOPROXY="$(go env GOPROXY)" GOSUMDB="$(go env GOSUMDB)" \
        bash /berth/tools/fresh-machine.sh --inside
}

prepare() {
    local root=$1
    if [ ! -x "$root/usr/bin/git" ]; then
        say "debootstrap $suite"
        debootstrap --variant=minbase --include=make,git,ca-certificates "$suite" "$root" >"$root/debootstrap.log" 2>&1 ||
            { tail -n 30 "$root/debootstrap.log" >&2; die "debootstrap failed"; }
    fi
    rm -rf "$root/etc/machine-id" "$root/var/lib/dbus/machine-id" "$root/berth"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    git clone -q "$checkout" "$root/berth"
}

main() {
    local keep=
    case ${1:-} in
        --inside) inside; return ;;
        --namespaced) namespaced "$2"; return ;;
        --keep) keep=${2:?--keep needs a directory} ;;
        '') ;;
        *) die "unknown argument $1; see the head of this script" ;;
    esac
    [ "$(id -u)" = 0 ] || die "this needs root, for debootstrap and chroot"
    command -v debootstrap >/dev/null || die "debootstrap is missing; install it with 'apt-get install debootstrap'"
    command -v go >/dev/null || die "Go is missing"
    local root begun=$SECONDS
    root=${keep:-$(mktemp -d)}
    mkdir -p "$root"
    root=$(realpath "$root")
    # The account of PostgreSQL must be able to enter it, which mktemp allows root only.
    chmod 755 "$root"
    # shellcheck disable=SC2064 # the name is gone when the script exits
    [ -n "$keep" ] || trap "rm -rf --one-file-system '$root'" EXIT
    prepare "$root"
    unshare --mount --pid --fork bash "$checkout/tools/fresh-machine.sh" --namespaced "$root"
    say "passed in $((SECONDS - begun)) s"
}

main "$@"
