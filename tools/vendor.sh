#!/usr/bin/env bash
# Take the files of others that the dashboard serves from npm anew; versions: src/duerow/web/dashboard/static/vendor/README.md
set -euo pipefail
cd "$(dirname "$0")/../src/duerow/web/dashboard/static/vendor"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version() { sed -n "s/^| .* | \`${1//\//\\/}\` | \([0-9.]*\) |.*/\1/p" README.md; }

take() { # take PACKAGE NAME FILE... : files of the package, as SOURCE=TARGET
    local package=$1 name=$2
    shift 2
    (cd "$work" && npm pack --silent "$package@$(version "$package")" >/dev/null && tar xzf ./*.tgz && rm ./*.tgz)
    cp "$work/package/LICENSE" "$name.LICENSE"
    for pair in "$@"; do cp "$work/package/${pair%%=*}" "${pair##*=}"; done
    rm -rf "$work/package"
}

take htmx.org htmx dist/htmx.min.js=htmx.min.js
take htmx-ext-sse htmx-sse dist/sse.min.js=htmx-sse.min.js
take idiomorph idiomorph dist/idiomorph-ext.min.js=idiomorph-ext.min.js
take @dagrejs/dagre dagre dist/dagre.min.js=dagre.min.js
sed -i '/^\/\/# sourceMappingURL/d' dagre.min.js
take @fontsource-variable/inter inter files/inter-latin-wght-normal.woff2=inter-latin.woff2 \
    files/inter-latin-ext-wght-normal.woff2=inter-latin-ext.woff2
