#!/bin/sh
# The OpenID provider that the tests of logins use (3 MB), in .cache/oidc-provider.
exec "$(dirname "$0")/install-node-package.sh" oidc-provider oidc-provider 9.13.3
