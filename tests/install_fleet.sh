#!/usr/bin/env bash
# Checks the files in install/fleet with the tools that read them: systemd, HAProxy, Compose and Kubernetes. Nothing is started.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=$(realpath "${ANSWERBACK_BIN_DIR:-target/debug}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r install/fleet "$scratch/fleet"

echo "systemd"
# The programs are not installed here, and the user is not made.
sed -e "s|/usr/local/bin|$bin|" -e '/^User=/d' -e '/^Group=/d' -e '/^Documentation=/d' \
    install/fleet/answerback-hub.service >"$scratch/answerback-hub.service"
said=$(systemd-analyze verify "$scratch/answerback-hub.service" 2>&1)
if [[ -n $said ]]; then
    echo "$said" >&2
    exit 1
fi

echo "HAProxy"
ANSWERBACK_NAME=answers.example.org ANSWERBACK_HUB1=127.0.0.1:27564 ANSWERBACK_HUB2=127.0.0.2:27564 \
    haproxy -c -q -f install/fleet/haproxy.cfg

echo "Compose"
mkdir "$scratch/fleet/secrets"
touch "$scratch/fleet/secrets/"{certificate.pem,key.pem,pgpass,postgres-password}
# Older versions say that they ignore configs. They check them all the same.
ANSWERBACK_NAME=answers.example.org docker-compose --file "$scratch/fleet/compose.yaml" config --quiet 2>"$scratch/said"
# Without a name, it does not start.
if docker-compose --file "$scratch/fleet/compose.yaml" config --quiet 2>/dev/null; then
    echo "error: the name of the hubs was not asked for" >&2
    exit 1
fi

echo "Kubernetes"
venv=${XDG_CACHE_HOME:-$HOME/.cache}/answerback-tests/kubernetes
if [[ ! -x $venv/bin/kubernetes-validate ]]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
fi
"$venv/bin/kubernetes-validate" --strict --quiet install/fleet/kubernetes.yaml

echo "the configuration of a hub"
sed -n '/config.toml: |/,/^---/{/^    /s/^    //p}' install/fleet/kubernetes.yaml >"$scratch/kubernetes.toml"
mkdir -p "$scratch/home/.config/answerback"
for file in install/fleet/hub.toml "$scratch/kubernetes.toml"; do
    cp "$file" "$scratch/home/.config/answerback/config.toml"
    env -i HOME="$scratch/home" "$bin/answerback" status --json >"$scratch/status.json" || true
    if jq --exit-status '.start_error | select(. != null) | test("config.toml")' "$scratch/status.json" >/dev/null; then
        jq -r .start_error "$scratch/status.json" >&2
        exit 1
    fi
done
echo "ok: install/fleet"
