/** The places of the third set: what people and tools write around a secret. */
import { camel, capitalised, header, kebab, pascal, snake, spoken, upper, wordsOf } from "./spellings.ts"
import type { Place } from "./types.ts"

type Write = Place["write"]

/** `stripe` and `key` of STRIPE_KEY, for files that nest them. */
const nested = (variable: string): [section: string, key: string] => {
  const [section, ...rest] = wordsOf(variable)
  return [section!, rest.length > 0 ? camel(rest.join("_")) : "key"]
}

/** As a shell or YAML takes it: in quotes where it would read something else. */
const quoted = (value: string): string => (/^[\w.:/+=@%-]+$/.test(value) ? value : `'${value}'`)
const xml = (value: string): string => value.replaceAll("&", "&amp;")

const strong = (name: string, write: Write): Place => ({ name, kind: "strong", write })
const weak = (name: string, write: Write): Place => ({ name, kind: "weak", write })

const isConnection = (value: string): boolean => /:\/\/|;/.test(value)
/** A place for what goes alone into a header or a login; URLs and connection strings are passed as a setting instead. */
const login = (name: string, write: Write): Place =>
  strong(name, (variable, value) =>
    isConnection(value)
      ? `helm upgrade --install web ./chart --set-string config.${camel(variable)}='${value}'`
      : write(variable, value),
  )

const CONFIGURATION: readonly Place[] = [
  strong(".env", (v, s) => `NODE_ENV=staging\n${v}=${quoted(s)}\nPORT=3000\n`),
  strong(".env, quoted", (v, s) => `# do not commit\n${upper(v)}="${s}"\nLOG_LEVEL=debug\n`),
  strong("ini", (v, s) => `[credentials]\nregion = eu-west-1\n${snake(v)} = ${s}\n`),
  strong("ini, quoted", (v, s) => `[client]\n${camel(v)}="${s}"\ntimeout=30\n`),
  strong("Java properties", (v, s) => `server.port=8081\napp.${wordsOf(v).join(".")}=${s}\n`),
  strong("json", (v, s) => `{\n  "environment": "staging",\n  "${snake(v)}": "${s}",\n  "retries": 3\n}`),
  strong("json, escaped", (v, s) => `{"body": "{\\"${camel(v)}\\":\\"${s}\\",\\"dryRun\\":true}"}`),
  strong("appsettings.json", (v, s) => {
    const [section, key] = nested(v)
    return `"${capitalised(section)}": {\n    "${capitalised(key)}": "${s}",\n    "Enabled": true\n  }`
  }),
  strong("Postman export", (v, s) => `{ "key": "${v}", "value": "${s}", "type": "secret", "enabled": true }`),
  strong("ECS task", (v, s) => `"environment": [{ "name": "${upper(v)}", "value": "${s}" }]`),
  strong(
    "docker-compose list",
    (v, s) => `    environment:\n      - TZ=UTC\n      - ${v}=${s}\n    ports:\n`,
  ),
  strong("docker-compose map", (v, s) => `    environment:\n      TZ: UTC\n      ${upper(v)}: "${s}"\n`),
  strong("pod", (v, s) => `        env:\n        - name: ${upper(v)}\n          value: "${s}"\n`),
  strong(
    "kubernetes secret",
    (v, s) => `kind: Secret\nmetadata:\n  name: web\nstringData:\n  ${kebab(v)}: ${quoted(s)}\n`,
  ),
  strong("Helm values", (v, s) => {
    const [section, key] = nested(v)
    return `${section}:\n  enabled: true\n  ${key}: ${quoted(s)}\n`
  }),
  strong("yaml block", (v, s) => `${snake(v)}: |\n  ${s}\nregion: eu\n`),
  strong("GitHub workflow", (v, s) => `      - run: npm test\n        env:\n          ${upper(v)}: '${s}'\n`),
  strong("Ansible", (v, s) => `  vars:\n    app_user: deploy\n    vault_${snake(v)}: "${s}"\n`),
  strong("tfvars", (v, s) => `region        = "us-east-1"\n${snake(v)} = "${s}"\n`),
  strong(
    "Terraform default",
    (v, s) => `variable "${snake(v)}" {\n  type    = string\n  default = "${s}"\n}`,
  ),
  strong("toml", (v, s) => `name = "worker"\n[vars]\n${upper(v)} = "${s}"\n`),
  strong("xml element", (v, s) => `<settings><${camel(v)}>${xml(s)}</${camel(v)}></settings>`),
  strong(
    "web.config",
    (v, s) => `<appSettings>\n  <add key="${pascal(v)}" value="${xml(s)}" />\n</appSettings>`,
  ),
  strong(
    "Hadoop site",
    (v, s) =>
      `<property>\n  <name>fs.${wordsOf(v).join(".")}</name>\n  <value>${xml(s)}</value>\n</property>`,
  ),
  strong("Gradle", (v, s) => `buildConfigField "String", "${upper(v)}", "\\"${s}\\""`),
  strong("gradle.properties", (v, s) => `org.gradle.daemon=true\n${camel(v)}=${s}\n`),
  strong("Makefile", (v, s) => `${upper(v)} ?= ${s}\n\ndeploy:\n\t./deploy.sh\n`),
  strong("Dockerfile", (v, s) => `FROM node:22-slim\nENV ${upper(v)}=${quoted(s)}\nWORKDIR /app\n`),
  strong("systemd", (v, s) => `[Service]\nEnvironment="${upper(v)}=${s}"\nRestart=always\n`),
  strong("Logstash", (v, s) => `output {\n  http {\n    "${snake(v)}" => "${s}"\n  }\n}`),
  strong("PHP define", (v, s) => `define( '${upper(v)}', '${s}' );\n`),
  strong(
    "WireGuard style",
    (v, s) => `[Interface]\nAddress = 10.8.0.2/32\n${pascal(v)} = ${s}\nDNS = 1.1.1.1\n`,
  ),
]

const COMMANDS: readonly Place[] = [
  strong("export", (v, s) => `$ export ${upper(v)}='${s}'\n$ npm start`),
  strong("assignment before a command", (v, s) => `${upper(v)}=${quoted(s)} python manage.py migrate`),
  strong("PowerShell", (v, s) => `PS C:\\src> $env:${upper(v)} = '${s}'`),
  strong("cmd", (v, s) => `C:\\src>set "${upper(v)}=${s}"`),
  strong("docker run", (v, s) => `docker run --rm -e ${upper(v)}=${quoted(s)} -p 8080:80 acme/web:latest`),
  strong("option with space", (v, s) => `acme deploy --env prod --${kebab(v)} ${quoted(s)} --verbose`),
  strong("option with equals", (v, s) => `./bin/sync --${kebab(v)}=${quoted(s)} --since 2d`),
  strong(
    "kubectl create secret",
    (v, s) => `kubectl create secret generic web --from-literal=${kebab(v)}=${quoted(s)}`,
  ),
  strong("heroku config", (v, s) => `heroku config:set ${upper(v)}=${quoted(s)} --app acme-web`),
  strong("gh secret", (v, s) => `gh secret set ${upper(v)} --body '${s}' --repo acme/web`),
  strong("vault kv put", (v, s) => `vault kv put secret/web ${snake(v)}=${quoted(s)}`),
  strong(
    "form field",
    (v, s) => `curl -X POST https://api.example.com/v1/login -F '${snake(v)}=${s}' -F user=ci`,
  ),
  login(
    "curl bearer",
    (_, s) =>
      `curl -sS https://api.example.com/v1/me \\\n  -H "Authorization: Bearer ${s}" \\\n  -H "Accept: application/json"`,
  ),
  login(
    "curl token",
    (_, s) => `curl -H 'Authorization: Token ${s}' --request PUT https://api.example.com/use/635`,
  ),
  login("curl without a scheme", (_, s) => `curl --header 'Authorization: ${s}' https://graph.example.com/`),
  login(
    "curl key header",
    (_, s) => `curl -X GET -H 'X-Api-Key: ${s}' https://octo.example.com/api/machines`,
  ),
  login("curl -u", (_, s) => `curl -s -u 'deploy:${s}' https://repo.example.com/api/ping`),
  login(
    "curl -u without a user",
    (_, s) => `curl -u ':${s}' https://dev.example.com/_apis/projects?api-version=7.1`,
  ),
  login("docker login", (_, s) => `docker login registry.example.com -u robot -p '${s}'`),
  login(
    "az login",
    (_, s) => `az login --service-principal -u http://web-ci -p '${s}' --tenant acme.example`,
  ),
  login("mysql -p", (_, s) => `mysql -h db.example.net -u root -p'${s}' orders < dump.sql`),
]

const LOGINS: readonly Place[] = [
  login(".netrc", (_, s) => `machine api.example.com\n  login ci\n  password ${s}\n`),
  login(".netrc, one line", (_, s) => `machine git.example.com login ci password ${s}`),
  login(
    ".npmrc",
    (_, s) => `@acme:registry=https://npm.example.com/\n//npm.example.com/:_authToken=${s}\nalways-auth=true`,
  ),
  login(
    ".pypirc",
    (_, s) =>
      `[pypi]\nrepository = https://pypi.example.org/legacy/\nusername = __token__\npassword = ${s}\n`,
  ),
  login(".pgpass", (_, s) => `db.example.net:5432:orders:app:${s}`),
  login(
    "git remote",
    (_, s) => `origin\thttps://ci:${encodeURIComponent(s)}@git.example.com/acme/web.git (fetch)`,
  ),
  login(
    "pip index",
    (_, s) => `--extra-index-url https://ci:${encodeURIComponent(s)}@pip.example.com/simple`,
  ),
  login(
    "Maven settings",
    (_, s) =>
      `<server>\n  <id>releases</id>\n  <username>deploy</username>\n  <password>${xml(s)}</password>\n</server>`,
  ),
  login("Jenkins credentials", (_, s) => `<scope>GLOBAL</scope>\n<id>web</id>\n<secret>${xml(s)}</secret>\n`),
  login("SQL user", (_, s) => `CREATE USER app WITH LOGIN PASSWORD '${s}';`),
  login("SQL grant", (_, s) => `CREATE USER 'app'@'%' IDENTIFIED BY '${s}';`),
  login("ODBC", (_, s) => `Driver={ODBC Driver 18};Server=db;Uid=app;Pwd=${s};Encrypt=yes`),
  login(
    "query",
    (_, s) => `GET https://api.example.com/v2/items?limit=5&api_key=${encodeURIComponent(s)} 200`,
  ),
  login(
    "access_token in a query",
    (_, s) => `wss://push.example.com/?access_token=${encodeURIComponent(s)}&v=9`,
  ),
  login(
    "token request",
    (_, s) => `grant_type=client_credentials&client_id=web&client_secret=${encodeURIComponent(s)}&scope=read`,
  ),
  login("HAR", (_, s) => `{ "name": "Authorization", "value": "Bearer ${s}" },`),
  login("cookie", (_, s) => `Cookie: theme=dark; session_token=${s}; lang=en`),
  login("set-cookie", (_, s) => `< Set-Cookie: auth_token=${s}; Path=/; HttpOnly; Secure`),
  login(
    "request dump",
    (v, s) => `POST /v1/charge HTTP/1.1\nHost: pay.example.com\nX-${header(v)}: ${s}\n\n`,
  ),
  login("nginx", (_, s) => `location /api/ {\n  proxy_set_header Authorization "Bearer ${s}";\n}`),
  login("websocket frame", (_, s) => `{"op":"auth","args":{"user":"ops","token":"${s}"}}`),
]

const CODE: readonly Place[] = [
  weak("JavaScript constant", (v, s) => `const ${camel(v)} = "${s}"\nmodule.exports = { ${camel(v)} }`),
  weak("JavaScript fallback", (v, s) => `const key = process.env.${upper(v)} || '${s}';`),
  weak(
    "JavaScript argument",
    (v, s) => `const client = new ${capitalised(wordsOf(v)[0]!)}('${s}', { retries: 2 });`,
  ),
  weak(
    "TypeScript object",
    (v, s) => `export const environment = { production: true, ${camel(v)}: '${s}' };`,
  ),
  weak("Python assignment", (v, s) => `# TODO move to the environment\n${upper(v)} = '${s}'\n`),
  weak("Python getenv", (v, s) => `token = os.getenv("${upper(v)}", "${s}")`),
  weak("Python keyword argument", (v, s) => `client = connect(host, ${snake(v)}="${s}", timeout=10)`),
  weak("Python header", (_, s) => `r = requests.get(url, headers={"X-Api-Key": "${s}"})`),
  weak("Go short", (v, s) => `\t${camel(v)} := \`${s}\`\n\tclient.Do(req)`),
  weak("Go struct", (v, s) => `cfg := &Config{Region: "eu", ${pascal(v)}: "${s}"}`),
  weak("Java field", (v, s) => `private static final String ${upper(v)} = "${s}";`),
  weak("C# credential", (_, s) => `smtp.Credentials = new NetworkCredential("noreply@example.com", "${s}");`),
  weak("C# string", (v, s) => `readonly static string ${camel(v)} = "${s}";`),
  weak("Kotlin", (v, s) => `private val ${camel(v)}: String = "${s}"`),
  weak("Swift", (v, s) => `static let ${camel(v)} = "${s}"`),
  weak("Objective-C", (v, s) => `static NSString *const k${pascal(v)} = @"${s}";`),
  weak("Rust", (v, s) => `pub const ${upper(v)}: &str = "${s}";`),
  weak("Ruby block", (v, s) => `Acme.configure do |config|\n  config.${snake(v)} = '${s}'\nend`),
  weak("Ruby hash", (v, s) => `{ :host => 'db1', :${snake(v)} => '${s}' }`),
  weak("PHP array", (v, s) => `return ['debug' => false, '${snake(v)}' => '${s}'];`),
  weak("Perl", (v, s) => `my %opt = (user => "ops", ${snake(v)} => q{${s}});`),
  weak("Lua", (v, s) => `local ${snake(v)} = [[${s}]]`),
  weak("Dart", (v, s) => `const String ${camel(v)} = '${s}';`),
  weak("C macro", (v, s) => `#define ${upper(v)} "${s}"`),
  weak("R", (v, s) => `Sys.setenv(${upper(v)} = "${s}")`),
  weak("SQL insert", (v, s) => `INSERT INTO settings (name, value) VALUES ('${snake(v)}', '${s}');`),
  weak("test", (v, s) => `expect(config.${camel(v)}).toBe("${s}")`),
  weak(
    "Jupyter cell",
    (v, s) => `"source": [\n    "import os\\n",\n    "os.environ['${upper(v)}'] = '${s}'\\n"\n   ]`,
  ),
  weak("comment, slashes", (v, s) => `// old ${spoken(v)}: ${s} (rotate!)`),
  weak("comment, hash", (_, s) => `retries: 3  # ${s} is the password`),
  weak("comment, HTML", (v, s) => `<!-- ${spoken(v)} ${s} -->`),
]

const OUTPUT: readonly Place[] = [
  weak(
    "CI log",
    (v, s) => `2025-03-04T09:12:44.1Z [DEBUG] Using ${v}=${s}\n2025-03-04T09:12:45.0Z [INFO] 200 OK`,
  ),
  weak("set -x", (v, s) => `+ export ${upper(v)}=${quoted(s)}\n+ ./deploy.sh production`),
  weak("printenv", (v, s) => `$ printenv ${upper(v)}\n${s}\n$`),
  weak("env", (v, s) => `HOME=/root\nLANG=C.UTF-8\n${upper(v)}=${s}\nPWD=/app`),
  weak("kubectl describe", (v, s) => `    Environment:\n      ${upper(v)}:  ${s}\n      TZ:  UTC`),
  weak(
    "docker inspect",
    (v, s) =>
      `            "Env": [\n                "PATH=/usr/bin",\n                "${upper(v)}=${s}"\n            ],`,
  ),
  weak(
    "terraform plan",
    (v, s) => `  # module.web will be created\n  + ${snake(v)} = "${s}"\n  + id = (known after apply)`,
  ),
  weak("terraform output", (v, s) => `Outputs:\n\n${snake(v)} = "${s}"`),
  weak(
    "vault read",
    (v, s) =>
      `Key                 Value\n---                 -----\n${snake(v)}    ${s}\nlease_id            n/a`,
  ),
  weak("diff", (v, s) => `@@ -3,4 +3,3 @@\n region: eu\n-${snake(v)}: ${s}\n+${snake(v)}: \${${upper(v)}}`),
  weak("git grep", (v, s) => `src/config/prod.js:14:  ${camel(v)}: '${s}',`),
  weak("python repr", (v, s) => `Settings(debug=False, ${snake(v)}='${s}', region='eu')`),
  weak("Go %+v", (v, s) => `config: {Region:eu ${pascal(v)}:${s} Timeout:30s}`),
  weak("Java toString", (v, s) => `ClientConfig[url=https://api.example.com, ${camel(v)}=${s}, retries=3]`),
  weak("Ruby inspect", (v, s) => `#<Acme::Client:0x000073 @${snake(v)}="${s}", @timeout=5>`),
  weak("console.log", (v, s) => `{\n  region: 'eu',\n  ${camel(v)}: '${s}',\n  debug: false\n}`),
  weak("PHP var_dump", (v, s) => `  ["${snake(v)}"]=>\n  string(${s.length}) "${s}"`),
  weak("python session", (v, s) => `>>> settings.${upper(v)}\n'${s}'\n>>>`),
  weak(
    "stack trace",
    (v, s) => `Error: request failed (${camel(v)}=${s})\n    at send (/app/lib/http.js:88:11)`,
  ),
  weak(
    "error of an interface",
    (_, s) => `401 Unauthorized: Incorrect API key provided: ${s}. Check your account.`,
  ),
  weak("error of a login", (_, s) => `error: invalid token "${s}" for user ci`),
  weak("ps", (v, s) => `root  4121  0.3  1.2 node server.js --${kebab(v)} ${s}`),
  weak("psql row", (v, s) => `   name    |   value\n-----------+----------\n ${snake(v)} | ${s}\n(1 row)`),
  weak("mysql table", (v, s) => `| 17 | ${snake(v)} | ${s} | 2025-01-09 |`),
  weak("redis-cli", (v, s) => `127.0.0.1:6379> GET config:${snake(v)}\n"${s}"`),
  weak("csv", (v, s) => `id,name,value,updated\n17,${snake(v)},${s},2025-01-09`),
  weak("prompt", (v, s) => `? Enter your ${spoken(v)}: ${s}\n? Continue? (Y/n)`),
  weak(
    "creation message",
    (v, s) => `Created ${spoken(v)}.\nCopy it now, it will not be shown again:\n\n    ${s}\n`,
  ),
]

const PROSE: readonly Place[] = [
  weak("prose", (v, s) => `For staging the ${spoken(v)} is ${s}, please use that one.`),
  weak("prose, quoted", (v, s) => `Make sure the ${spoken(v)} is "${s}" before you press the button.`),
  weak("prose, after a colon", (v, s) => `Sure, here is my ${spoken(v)}: ${s}`),
  weak("prose, value first", (v, s) => `${s} is the ${spoken(v)} we use in production.`),
  weak("prose, next line", (v, s) => `can you put this in the config, it's the ${spoken(v)}\n${s}\nthanks`),
  weak("chat message", (v, s) => `maria  10:42 AM\n@jon ${spoken(v)} → ${s} (delete after)`),
  weak("user and password", (_, s) => `login: admin / ${s}`),
  weak("e-mail reply", (v, s) => `> ${capitalised(spoken(v))} - ${s}\n>\n> Regards, Tom`),
  weak("issue", (v, s) => `**Steps**\n1. set **${capitalised(spoken(v))}:** ${s}\n2. restart`),
  weak("Markdown table", (v, s) => `| Variable | Value |\n| --- | --- |\n| ${upper(v)} | ${s} |`),
  weak("Markdown code", (v, s) => `Set \`${upper(v)}\` to \`${s}\` and restart.`),
  weak("Markdown list", (v, s) => `- ${spoken(v)}: \`${s}\`\n- region: eu`),
  weak(
    "OpenAPI example",
    (v, s) => `        ${camel(v)}:\n          type: string\n          example: ${quoted(s)}`,
  ),
  weak("reStructuredText", (v, s) => `:${spoken(v)}: \`\`${s}\`\``),
  weak("German", (v, s) => `Der ${spoken(v)} lautet ${s} und gilt bis Freitag.`),
  weak("French", (v, s) => `Le mot de passe pour ${wordsOf(v)[0]} est ${s}, ne le partagez pas.`),
  weak("Spanish", (v, s) => `La clave de ${wordsOf(v)[0]} es: ${s}`),
  weak("Portuguese", (v, s) => `a senha do ${wordsOf(v)[0]} é ${s} ok?`),
  weak("Japanese", (v, s) => `${upper(v)}は「${s}」です。`),
  weak("Chinese", (v, s) => `${spoken(v)}是 ${s} ，请保密。`),
  weak("Russian", (v, s) => `пароль от ${wordsOf(v)[0]}: ${s}`),
]

export const PLACES: readonly Place[] = [
  ...CONFIGURATION,
  ...COMMANDS,
  ...LOGINS,
  ...CODE,
  ...OUTPUT,
  ...PROSE,
]

export const BARE: readonly Place[] = [
  weak("alone", (_, s) => s),
  weak("pasted into a sentence", (_, s) => `does ${s} look right to you?`),
  weak("list", (_, s) => `["eu-west-1", "${s}", 42]`),
  weak("argument", (_, s) => `connect(url, '${s}', true)`),
  weak("echo", (_, s) => `echo '${s}' | base64 -d`),
  weak("xml text", (_, s) => `<string>${xml(s)}</string>`),
  weak("parentheses", (_, s) => `rotated yesterday (${s}) by ops`),
  weak("column", (_, s) => `17\t${s}\t2025-01-09`),
  weak("other scripts", (_, s) => `これ：${s}。`),
  weak("grep", (_, s) => `grep -rn '${s}' . --include='*.yml'`),
]
