// A real OpenID provider for tests. The first argument is a JSON file with its settings; `people` is read again at each
// login, so that a test may change what the provider says of somebody. The second is the folder with its packages.
import { readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [settingsFile, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/index.js`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);
const settings = () => JSON.parse(readFileSync(settingsFile, "utf8"));
const { port, clients, keys, claimsInIdToken, hasDeviceFlow } = settings();
const lifetimes = ["AccessToken", "AuthorizationCode", "DeviceCode", "Grant", "IdToken", "Interaction", "Session"];

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients,
  jwks: { keys },
  cookies: { keys: ["only for tests"] },
  scopes: ["openid", "profile", "email", "groups"],
  claims: {
    openid: ["sub"],
    profile: ["preferred_username", "name"],
    email: ["email", "email_verified"],
    groups: ["groups"],
  },
  conformIdTokenClaims: !claimsInIdToken,
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: hasDeviceFlow } },
  ttl: Object.fromEntries(lifetimes.map((kind) => [kind, 600])),
  async findAccount(_, sub) {
    return { accountId: sub, claims: async () => ({ sub, ...settings().people[sub] }) };
  },
});
provider.on("server_error", (_, error) => console.error(error));
createServer(provider.callback()).listen(port, "127.0.0.1", () => writeSync(1, "listening\n"));
