#!/bin/sh
# The JavaScript SDK of OpenPAI, on which its VS Code extension is built (57 MB), in .cache/openpai-sdk. Its tests call a
# server of Muster with it.
exec "$(dirname "$0")/install-node-package.sh" openpai-sdk @microsoft/openpai-js-sdk 0.1.5
