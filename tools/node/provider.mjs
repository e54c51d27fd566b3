// A certified OpenID provider on loopback for tests: `node provider.mjs RESOURCE jwt|opaque`; its first line of output is its address.
import http from "node:http";
import Provider from "oidc-provider";

const [, , resource, format] = process.argv;
const groups = { lawyer: ["legal"], engineer: ["eng"], robot: ["eng"] };
const server = http.createServer();

server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const machine = { redirect_uris: [], response_types: [], token_endpoint_auth_method: "client_secret_basic" };
  const provider = new Provider(issuer, {
    clients: [
      { client_id: "kb", client_secret: "kb-secret", grant_types: [], ...machine },
      { client_id: "robot", client_secret: "robot-secret", grant_types: ["client_credentials"], ...machine },
    ],
    cookies: { keys: ["of the tests"] },
    extraTokenClaims: (_, token) => ({ groups: groups[token.accountId ?? token.clientId] ?? [] }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: (_, indicator) => ({
          scope: "knowledge.read",
          audience: indicator,
          accessTokenFormat: format,
          accessTokenTTL: 300,
          ...(format === "jwt" ? { jwt: { sign: { alg: "RS256" } } } : {}),
        }),
        useGrantedResource: () => true,
      },
      revocation: { enabled: true, allowedPolicy: () => true },
    },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    scopes: ["openid", "offline_access", "knowledge.read"],
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
