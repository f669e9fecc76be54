/**
 * Secrets of no known format, each in a place that gives it away: settings, code of many languages, commands, addresses
 * and sentences. Everything random comes from a seed, so nothing here is anyone's secret.
 */
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { Noise } from "./planted.ts"

const LOWER = "abcdefghijklmnopqrstuvwxyz"
const ALNUM = `${LOWER}${LOWER.toUpperCase()}0123456789`
const SYMBOLS = "!@#$%^&*()-_=+[]{};:,.?/|~<>"

/** `key`: long and random. `password`: shorter, of any characters. `letters`: a password that may be a word. */
export type Sort = "key" | "password" | "letters"
export type Group = "strong" | "weak"

export interface Place {
  readonly name: string
  readonly group: Group
  readonly sorts: readonly Sort[]
  /** Characters that cannot stand in a value here. */
  readonly without: string
  text(name: Name, value: string): string
}

/** A name in the spellings of its surroundings. */
export class Name {
  readonly words: readonly string[]

  constructor(words: readonly string[]) {
    this.words = words
  }

  get snake(): string {
    return this.words.join("_")
  }
  get loud(): string {
    return this.snake.toUpperCase()
  }
  get kebab(): string {
    return this.words.join("-")
  }
  get camel(): string {
    return this.words.map((word, n) => (n === 0 ? word : capital(word))).join("")
  }
  get pascal(): string {
    return this.words.map(capital).join("")
  }
  get plain(): string {
    return this.words.join(" ")
  }
  /** Of a header. */
  get train(): string {
    return this.words.map(capital).join("-")
  }
}

const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1)

const NAMES: Readonly<Record<"key" | "password", readonly string[]>> = {
  key: [
    "api key",
    "auth token",
    "client secret",
    "access token",
    "secret key",
    "acme api key",
    "webhook secret",
    "encryption key",
    "refresh token",
    "service token",
    "signing key",
    "deploy token",
    "app secret",
    "bearer token",
    "secret access key",
    "slack bot token",
    "credential",
  ],
  password: ["password", "db password", "admin password", "user passwd", "smtp password", "redis password"],
}

type Make = (noise: Noise, dice: Dice) => string
const between = (dice: Dice, least: number, most: number): number =>
  least + Math.floor(dice.unit() * (most - least + 1))

const MAKES: Readonly<Record<Sort, readonly Make[]>> = {
  key: [
    (noise) => noise.hex(32),
    (noise) => noise.hex(40),
    (noise) => noise.hex(64),
    (noise, dice) => noise.of(ALNUM, between(dice, 20, 48)),
    (noise, dice) => Buffer.from(noise.of(ALNUM, between(dice, 18, 48)), "latin1").toString("base64"),
    (noise, dice) => `${noise.of(`${ALNUM}+/`, between(dice, 30, 86))}==`,
    (noise, dice) => noise.of(`${ALNUM}-_`, between(dice, 24, 43)),
    (noise, dice) => noise.of(`${LOWER}0123456789`, between(dice, 24, 40)),
    (noise) => noise.uuid(),
  ],
  password: [
    (noise, dice) => noise.alnum(between(dice, 8, 16)),
    (noise, dice) => `${noise.of(ALNUM, 3)}7${noise.of(`${ALNUM}${SYMBOLS}`, between(dice, 6, 18))}q`,
    (noise, dice) => `${capital(noise.of(LOWER, between(dice, 5, 8)))}${noise.of("0123456789", 4)}!`,
  ],
  letters: [(noise, dice) => `${noise.of(LOWER, between(dice, 10, 16))}`],
}

const KEY = ["key"] as const
const PASSWORD = ["password"] as const
const BOTH = ["key", "password"] as const
const ANY = ["key", "password", "letters"] as const

type Render = (name: Name, value: string) => string
const of =
  (group: Group) =>
  (name: string, sorts: readonly Sort[], text: Render, without = ""): Place => ({
    name,
    group,
    sorts,
    without,
    text,
  })
const strong = of("strong")
const weak = of("weak")

/** What cannot stand bare in a command. */
const SHELL = "()&;|<>$*?[]{}!~#"

export const PLACES: readonly Place[] = [
  strong("env", ANY, (n, v) => `MODE=live\n${n.loud}=${v}\nPORT=80\n`),
  strong("env, double quotes", BOTH, (n, v) => `MODE=live\n${n.loud}="${v}"\nPORT=80\n`),
  strong("env, single quotes", BOTH, (n, v) => `${n.loud}='${v}'\nPORT=80\n`),
  strong("export", BOTH, (n, v) => `export ${n.loud}=${v}\n./run`, SHELL),
  strong("export, quoted", BOTH, (n, v) => `export ${n.loud}="${v}" && ./run`),
  strong("before a command", BOTH, (n, v) => `${n.loud}=${v} ./run --all`, SHELL),
  strong("yaml", ANY, (n, v) => `shop:\n  mode: live\n  ${n.snake}: ${v}\n  port: 80\n`, "#:[]{}"),
  strong("yaml, camel case", BOTH, (n, v) => `shop:\n  ${n.camel}: ${v}\n`, "#:[]{}"),
  strong("yaml, quoted", BOTH, (n, v) => `  ${n.snake}: "${v}"\n  port: 80\n`),
  strong(
    "yaml, aligned",
    ANY,
    (n, v) => `mode:           live\n${n.snake}:      ${v}\nport:           80\n`,
    "#:[]{}",
  ),
  strong("JSON", BOTH, (n, v) => `{\n  "mode": "live",\n  "${n.snake}": "${v}",\n  "port": 80\n}`),
  strong("JSON, compact", BOTH, (n, v) => `{"mode":"live","${n.camel}":"${v}","port":80}`),
  strong("header", KEY, (n, v) => `GET /a HTTP/1.1\nX-${n.train}: ${v}\nHost: shop.example\n`),
  strong("bearer", KEY, (_, v) => `Authorization: Bearer ${v}\n`),
  strong("bearer in curl", KEY, (_, v) => `curl -H "Authorization: Bearer ${v}" https://shop.example/a`),
  strong("API key in curl", KEY, (_, v) => `curl -s -H 'X-Api-Key: ${v}' https://shop.example/a`),
  strong("private token", KEY, (_, v) => `Private-Token: ${v}\nHost: git.example\n`),
  strong("option", KEY, (_, v) => `deployer push --token ${v} --all`),
  strong("option with =", KEY, (_, v) => `deployer push --token=${v} --all`),
  strong("TOML", BOTH, (n, v) => `[shop]\n${n.snake} = "${v}"\nport = 80\n`),
  strong("INI", ANY, (n, v) => `[shop]\n${n.snake} = ${v}\nport = 80\n`, ";#"),
  strong("properties", BOTH, (n, v) => `shop.mode=live\nshop.${n.words.join(".")}=${v}\n`),

  // code
  weak("TypeScript, typed", BOTH, (n, v) => `class A {\n  ${n.camel}: string = "${v}"\n}`),
  weak("TypeScript, union", BOTH, (n, v) => `const ${n.camel}: string | undefined = "${v}";`),
  weak("TypeScript, default", BOTH, (n, v) => `const key = process.env.${n.loud} ?? '${v}'\n`),
  weak("JavaScript, or", BOTH, (n, v) => `const a = process.env.${n.loud} || "${v}";`),
  weak("JavaScript, in brackets", BOTH, (n, v) => `const a = process.env["${n.loud}"] || "${v}";`),
  weak("JavaScript, property", BOTH, (n, v) => `const c = new Client({ ${n.camel}: "${v}" })`),
  weak("JavaScript, member", BOTH, (n, v) => `config.${n.camel} = '${v}'\n`),
  weak("JavaScript, template", KEY, (n, v) => `let ${n.camel} = \`${v}\`\n`),
  weak("JavaScript, setter", BOTH, (n, v) => `client.set${n.pascal}("${v}");`),
  weak("JavaScript, header", KEY, (n, v) => `headers: { "X-${n.train}": "${v}" }`),
  weak("JavaScript, headers.set", KEY, (n, v) => `headers.set("X-${n.train}", "${v}")`),
  weak("Python", BOTH, (n, v) => `${n.snake} = "${v}"\nprint(1)\n`),
  weak("Python, typed", BOTH, (n, v) => `${n.snake}: str = "${v}"\n`),
  weak("Python, getenv", BOTH, (n, v) => `x = os.getenv("${n.loud}", "${v}")\n`),
  weak("Python, environ.get", BOTH, (n, v) => `x = os.environ.get('${n.loud}', '${v}')\n`),
  weak("Python, environ", BOTH, (n, v) => `os.environ["${n.loud}"] = "${v}"\n`),
  weak("Python, or", BOTH, (n, v) => `x = os.environ.get("${n.loud}") or "${v}"\n`),
  weak("Python, argument", BOTH, (n, v) => `login(user, ${n.snake}="${v}")`),
  weak("Go", BOTH, (n, v) => `\t${n.camel} := "${v}"\n`),
  weak("Go, const", BOTH, (n, v) => `const ${n.camel} string = "${v}"\n`),
  weak("Go, field", BOTH, (n, v) => `cfg := Config{\n\t${n.pascal}: "${v}",\n}`),
  weak("Go, Setenv", BOTH, (n, v) => `os.Setenv("${n.loud}", "${v}")`),
  weak("Rust", BOTH, (n, v) => `let ${n.snake}: &str = "${v}";`),
  weak("Rust, const", BOTH, (n, v) => `const ${n.loud}: &'static str = "${v}";`),
  weak("Rust, to_string", BOTH, (n, v) => `${n.snake}: "${v}".to_string(),`),
  weak("Rust, String::from", BOTH, (n, v) => `${n.snake}: String::from("${v}"),`),
  weak("Rust, header", KEY, (n, v) => `.header("X-${n.train}", "${v}")`),
  weak("Swift", BOTH, (n, v) => `let ${n.camel}: String = "${v}"\n`),
  weak("Kotlin", BOTH, (n, v) => `private val ${n.camel}: String? = "${v}"\n`),
  weak("C", BOTH, (n, v) => `static const char *${n.snake} = "${v}";`),
  weak("C, array", BOTH, (n, v) => `const char ${n.snake}[] = "${v}";`),
  weak("C, macro", BOTH, (n, v) => `#define ${n.loud} "${v}"\n`),
  weak("C#", BOTH, (n, v) => `public string ${n.pascal} { get; set; } = "${v}";`),
  weak("C#, const", BOTH, (n, v) => `private const string ${n.pascal} = "${v}";`),
  weak("Java", BOTH, (n, v) => `private static final String ${n.loud} = "${v}";`),
  weak("Java, put", BOTH, (n, v) => `props.put("${n.words.join(".")}", "${v}");`),
  weak("PHP, define", BOTH, (n, v) => `define('${n.loud}', '${v}');`),
  weak("PHP, array", BOTH, (n, v) => `return ['${n.snake}' => '${v}'];`),
  weak("PHP, env", BOTH, (n, v) => `'x' => env('${n.loud}', '${v}'),`),
  weak("PHP, variable", BOTH, (n, v) => `$${n.snake} = '${v}';`),
  weak("Ruby", BOTH, (n, v) => `config.${n.snake} = "${v}"\n`),
  weak("Ruby, symbol", BOTH, (n, v) => `{ :${n.snake} => "${v}" }`),
  weak("Ruby, fetch", BOTH, (n, v) => `ENV.fetch("${n.loud}", "${v}")`),
  weak("Ruby, or", BOTH, (n, v) => `ENV["${n.loud}"] ||= "${v}"`),
  weak("Perl", BOTH, (n, v) => `my $${n.snake} = '${v}';`),
  weak("SQL, identified by", PASSWORD, (_, v) => `CREATE USER 'bob'@'%' IDENTIFIED BY '${v}';`),
  weak("SQL, password", PASSWORD, (_, v) => `ALTER USER bob WITH PASSWORD '${v}';`),
  weak("XML, element", BOTH, (n, v) => `<a><${n.camel}>${v}</${n.camel}></a>`, "<>&"),
  weak("XML, key and value", BOTH, (n, v) => `<add key="${n.pascal}" value="${v}" />`, "<>&"),
  weak("XML, attribute", BOTH, (n, v) => `<server host="a" ${n.camel}="${v}" />`, "<>&"),
  weak("XML, property", BOTH, (n, v) => `<property name="${n.camel}" value="${v}"/>`, "<>&"),
  weak("HCL", BOTH, (n, v) => `resource "a" "b" {\n  ${n.snake.padEnd(20)} = "${v}"\n}`),
  weak("HCL, default", BOTH, (n, v) => `variable "${n.snake}" {\n  default = "${v}"\n}`),
  weak("Dockerfile, ENV", BOTH, (n, v) => `FROM a\nENV ${n.loud} ${v}\nRUN b\n`, SHELL),
  weak("Dockerfile, ENV with =", BOTH, (n, v) => `ENV ${n.loud}=${v}\n`, SHELL),
  weak("Dockerfile, ARG", BOTH, (n, v) => `ARG ${n.loud}="${v}"\n`),
  weak("PowerShell", BOTH, (n, v) => `$env:${n.loud} = "${v}"\n`),
  weak("PowerShell, secure string", PASSWORD, (_, v) => `ConvertTo-SecureString "${v}" -AsPlainText -Force`),
  weak(
    "PowerShell, secure string with a name",
    PASSWORD,
    (_, v) => `ConvertTo-SecureString -String '${v}' -AsPlainText`,
  ),
  weak("cmd, set", BOTH, (n, v) => `set ${n.loud}=${v}\r\nrun`, SHELL),
  weak("cmd, setx", BOTH, (n, v) => `setx ${n.loud} "${v}"`),
  weak("fish, set", BOTH, (n, v) => `set -gx ${n.loud} "${v}"`),
  weak("JSON, name and value", BOTH, (n, v) => `[{ "name": "${n.loud}", "value": "${v}" }]`),
  weak("yaml, name and value", BOTH, (n, v) => `env:\n  - name: ${n.loud}\n    value: "${v}"\n`),
  weak("yaml, list", BOTH, (n, v) => `environment:\n  - ${n.loud}=${v}\n  - MODE=live\n`, "#"),
  weak("yaml, wrapped", BOTH, (n, v) => `${n.snake}: >-\n  ${v}\nport: 80\n`, "#:"),
  weak("repr of a dict", BOTH, (n, v) => `{'mode': 'live', '${n.snake}': '${v}'}`),
  weak("struct in a log", BOTH, (n, v) => `{mode:live ${n.camel}:${v} port:80}`, "{}"),

  weak("Makefile", BOTH, (n, v) => `${n.loud} ?= ${v}\nall: run\n`, "#$"),
  weak("Makefile, :=", BOTH, (n, v) => `${n.loud} := ${v}\nall: run\n`, "#$"),
  weak("R", BOTH, (n, v) => `${n.camel} <- "${v}"\n`),
  weak("Logstash", BOTH, (n, v) => `  "${n.snake}" => "${v}"\n`),
  weak("C++, constructor", BOTH, (n, v) => `std::string ${n.snake}("${v}");`),
  weak("comparison", BOTH, (n, v) => `if (${n.camel} == "${v}") {`),
  weak("comparison, not", BOTH, (n, v) => `if ${n.snake} != "${v}":`),
  weak("Objective-C", BOTH, (n, v) => `NSString *${n.camel} = @"${v}";`),
  weak("JavaScript, storage", BOTH, (n, v) => `localStorage.setItem("${n.camel}", "${v}")`),
  weak("JavaScript, quoted property with a blank", BOTH, (n, v) => `{ "${n.snake}" : "${v}" }`),
  weak("Python, bytes", BOTH, (n, v) => `${n.loud} = b"${v}"\n`),
  weak("Python, annotated argument", BOTH, (n, v) => `def run(host, ${n.snake}: str = "${v}"):`),
  weak("dart", BOTH, (n, v) => `static const String ${n.camel} = '${v}';`),
  weak("Scala", BOTH, (n, v) => `val ${n.camel}: String = "${v}"`),
  weak("Elixir", BOTH, (n, v) => `config :shop, ${n.snake}: "${v}"`),
  weak("Clojure", BOTH, (n, v) => `{:${n.kebab} "${v}"}`),
  weak("shell, default", BOTH, (n, v) => `x="\${${n.loud}:-${v}}"`, SHELL),
  weak("shell, spaces", BOTH, (n, v) => `local ${n.snake}="${v}"`),
  weak("XML, element over lines", BOTH, (n, v) => `<${n.camel}>\n    ${v}\n</${n.camel}>`, "<>&"),
  weak("XML, element with an attribute", PASSWORD, (_, v) => `<Pass encoding="base64">${v}</Pass>`, "<>&"),
  weak("yaml, in a list", BOTH, (n, v) => `- ${n.snake}: ${v}\n`, "#:[]{}"),

  // commands
  weak("--api-key", KEY, (_, v) => `shop deploy --api-key ${v} --all`),
  weak("--api-key=", KEY, (_, v) => `shop deploy --api-key=${v} --all`),
  weak("--client-secret", KEY, (_, v) => `az login --client-secret "${v}" --all`),
  weak("--secret-key", KEY, (_, v) => `s3 --secret-key '${v}' ls`),
  weak("--auth-token", KEY, (_, v) => `run --auth-token ${v}`),
  weak("--password", PASSWORD, (_, v) => `run --password ${v} --all`, SHELL),
  weak("--password=, quoted", PASSWORD, (_, v) => `run --password='${v}' --all`),
  weak("mysql -p", PASSWORD, (_, v) => `mysql -u bob -p${v} shop`, SHELL),
  weak("sshpass -p", PASSWORD, (_, v) => `sshpass -p '${v}' ssh box`),
  weak("docker login -p", PASSWORD, (_, v) => `docker login -u bob -p ${v} registry.example`, SHELL),
  weak("curl -u", PASSWORD, (_, v) => `curl -u bob:${v} https://shop.example`, SHELL),
  weak("curl --user", PASSWORD, (_, v) => `curl -s --user "bob:${v}" https://shop.example`),
  weak("redis-cli -a", PASSWORD, (_, v) => `redis-cli -h box -a ${v} ping`, SHELL),
  weak("PGPASSWORD", PASSWORD, (_, v) => `PGPASSWORD=${v} psql -h box`, SHELL),
  weak("wget --password", PASSWORD, (_, v) => `wget --user=bob --password='${v}' https://shop.example`),
  weak("htpasswd -b", PASSWORD, (_, v) => `htpasswd -cb /etc/users bob ${v}`, SHELL),
  weak("openssl -passin", PASSWORD, (_, v) => `openssl rsa -in a.pem -passin pass:${v} -out b`, SHELL),
  weak("ansible", PASSWORD, (_, v) => `box ansible_user=bob ansible_become_pass=${v}`, SHELL),
  weak("net use", PASSWORD, (_, v) => `net use Z: \\\\box\\share ${v} /user:bob`, SHELL),
  weak("az login -p", PASSWORD, (_, v) => `az login --service-principal -u app -p ${v} --tenant t`, SHELL),
  weak("aws configure", KEY, (_, v) => `aws configure set aws_secret_access_key ${v}`),
  weak("gh auth", KEY, (_, v) => `gh auth login --with-token <<< "${v}"`),
  weak("kubectl", PASSWORD, (_, v) => `kubectl create secret generic a --from-literal=password='${v}'`),
  weak("password on stdin", PASSWORD, (_, v) => `echo "${v}" | docker login -u bob --password-stdin`),

  weak("PowerShell parameter", PASSWORD, (_, v) => `Connect-Shop -User bob -Password "${v}"`),
  weak("form data", PASSWORD, (_, v) => `curl -d "user=bob&password=${v}&x=1" https://shop.example`, SHELL),
  weak("JSON data", PASSWORD, (_, v) => `curl -d '{"user":"bob","password":"${v}"}' https://shop.example`),
  weak("build argument", BOTH, (n, v) => `docker build --build-arg ${n.loud}=${v} .`, SHELL),
  weak("docker -e", BOTH, (n, v) => `docker run -e ${n.loud}=${v} -p 80:80 shop`, SHELL),
  weak("helm --set", BOTH, (n, v) => `helm install a b --set auth.${n.camel}=${v}`, `${SHELL},`),
  weak("Java property", BOTH, (n, v) => `java -D${n.words.join(".")}=${v} -jar a.jar`, SHELL),

  // files
  weak(".netrc", PASSWORD, (_, v) => `machine shop.example login bob password ${v}\n`),
  weak(".netrc, lines", PASSWORD, (_, v) => `machine shop.example\n  login bob\n  password ${v}\n`),
  weak(".pgpass", PASSWORD, (_, v) => `db.example.com:5432:shop:bob:${v}\n`, ":"),
  weak(".npmrc token", KEY, (_, v) => `//npm.example.org/:_authToken=${v}\n`),
  weak(".npmrc auth", KEY, (_, v) => `_auth=${v}\n`),
  weak(".npmrc password", PASSWORD, (_, v) => `//r.example/:_password=${v}\n`),
  weak(".pypirc", PASSWORD, (_, v) => `[pypi]\nusername = bob\npassword = ${v}\n`),
  weak("git credentials", KEY, (_, v) => `https://bob:${v}@git.example\n`, "/+=@"),

  // addresses
  weak("token before the host", KEY, (_, v) => `git clone https://${v}:x-oauth-basic@github.com/a/b`, "/+=@"),
  weak("user and password", PASSWORD, (_, v) => `https://bob:${v}@shop.example/a`, "/?#@<>[]"),
  // With any `@` that is in the password.
  weak("postgres", PASSWORD, (_, v) => `DATABASE_URL=postgres://bob:${v}@db:5432/shop`, "/?#<>"),
  weak("redis", PASSWORD, (_, v) => `redis://:${v}@cache:6379/0`, "/?#@<>"),
  weak("mongodb+srv", PASSWORD, (_, v) => `mongodb+srv://bob:${v}@c0.mongodb.example/a`, "/?#@<>"),
  weak("amqp", PASSWORD, (_, v) => `amqp://bob:${v}@queue:5672/`, "/?#@<>"),
  weak("smtp", PASSWORD, (_, v) => `smtp://bob%40shop:${v}@mail.example:587`, "/?#@<>"),
  weak("query, api_key", KEY, (_, v) => `https://shop.example/a?page=1&api_key=${v}&x=1`, "+/=&"),
  weak("query, access_token", KEY, (_, v) => `https://shop.example/a?access_token=${v}`, "+/=&"),
  weak("query, token", KEY, (_, v) => `https://shop.example/a?token=${v}&x=1`, "+/=&"),
  weak("query, sig", KEY, (_, v) => `https://x.example/a?se=1&sig=${encodeURIComponent(v)}&sp=r`, "+/=&"),
  weak("query, amz", KEY, (_, v) => `https://x.example/a?X-Amz-Date=1&X-Amz-Signature=${v}&x=1`, "+/=&"),
  weak("query, amz token", KEY, (_, v) => `https://x.example/a?X-Amz-Security-Token=${v}&x=1`, "+/=&"),
  weak("JDBC", PASSWORD, (_, v) => `jdbc:mysql://db/shop?user=bob&password=${v}&ssl=true`, "&?#"),
  weak(
    "connection string",
    PASSWORD,
    (_, v) => `Server=db;Database=shop;User Id=bob;Password=${v};Encrypt=True`,
    ";",
  ),
  weak("connection string, Pwd", PASSWORD, (_, v) => `"Server=db;Uid=bob;Pwd=${v};"`, ";"),
  weak("connection string, account key", KEY, (_, v) => `AccountName=shop;AccountKey=${v};EndpointSuffix=x`),
  weak("connection string, shared key", KEY, (_, v) => `SharedAccessKeyName=a;SharedAccessKey=${v}`),
  weak("cookie", KEY, (_, v) => `Cookie: theme=dark; sessionid=${v}; lang=en\n`),
  weak("set cookie", KEY, (_, v) => `Set-Cookie: session=${v}; Path=/; HttpOnly\n`),
  weak("authorization, ApiKey", KEY, (_, v) => `Authorization: ApiKey ${v}\n`),
  weak("authorization, Bot", KEY, (_, v) => `Authorization: Bot ${v}\n`),
  weak(
    "authorization, AWS4",
    KEY,
    (_, v) => `Authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=${v}\n`,
  ),
  weak("authorization, bare", KEY, (_, v) => `-H "Authorization: ${v}"`),
  weak("table", BOTH, (n, v) => `| name | value |\n| --- | --- |\n| ${n.loud} | ${v} |\n`, "|"),
  weak("table, code", BOTH, (n, v) => `| \`${n.loud}\` | \`${v}\` |\n`, "|"),
  weak("prompt of a terminal", PASSWORD, (_, v) => `Username: bob\nPassword: ${v}\n`),

  // sentences
  weak("my … is", BOTH, (n, v) => `my ${n.plain} is ${v}`),
  weak("the … is, with an end", BOTH, (n, v) => `The ${n.plain} is ${v} and it works.`),
  weak("the … is, quoted", BOTH, (n, v) => `the ${n.plain} is "${v}".`),
  weak("the … is, code", BOTH, (n, v) => `Our ${n.plain} is \`${v}\`, keep it.`),
  weak("use this …", BOTH, (n, v) => `use this ${n.plain}: ${v} please`),
  weak("here is the …", BOTH, (n, v) => `Here's the ${n.plain}: ${v}`),
  weak("output", BOTH, (n, v) => `Done.\n${capital(n.plain)}: ${v}\nBye.`),
  weak("output on the next line", KEY, (n, v) => `Your new ${n.plain}:\n\n  ${v}\n\nKeep it.`),
  weak("was set to", BOTH, (n, v) => `the ${n.plain} was set to ${v} today`),
  weak("bold", BOTH, (n, v) => `- **${capital(n.plain)}**: \`${v}\``),
  weak("with an equals sign", BOTH, (n, v) => `my ${n.plain} = ${v}`),
  weak("with an arrow", BOTH, (n, v) => `${n.plain} -> ${v}`),
  weak("changed to", PASSWORD, (n, v) => `I changed the ${n.plain} to ${v} yesterday`),
  weak("for someone", PASSWORD, (n, v) => `the ${n.plain} for bob is ${v}`),
  weak("in brackets", KEY, (n, v) => `log in with the ${n.plain} (${v})`),
  weak("generated", KEY, (n, v) => `Generated ${n.plain} ${v}\n`),
  weak("German", PASSWORD, (_, v) => `mein Passwort ist ${v} und fertig`),
  weak("German, lautet", PASSWORD, (_, v) => `Das Passwort lautet ${v}`),
  weak("German, label", PASSWORD, (_, v) => `Passwort: ${v}\n`),
  weak("German, Kennwort", PASSWORD, (_, v) => `Kennwort: ${v}\n`),
  weak("German, key", KEY, (_, v) => `der API-Schlüssel ist ${v}`),
  weak("French", PASSWORD, (_, v) => `le mot de passe est ${v}`),
  weak("French, label", PASSWORD, (_, v) => `Mot de passe : ${v}\n`),
  weak("Spanish", PASSWORD, (_, v) => `la contraseña es ${v}`),
  weak("Spanish, label", PASSWORD, (_, v) => `Contraseña: ${v}\n`),
  weak("Russian", PASSWORD, (_, v) => `мой пароль ${v}`),
  weak("Russian, label", PASSWORD, (_, v) => `Пароль: ${v}\n`),
  weak("Russian, dash", PASSWORD, (_, v) => `пароль от базы — ${v}`),
  weak("Russian, token", KEY, (_, v) => `токен: ${v}`),
  weak("Chinese", PASSWORD, (_, v) => `密码是 ${v}`),
  weak("Chinese, label", PASSWORD, (_, v) => `密码：${v}\n`),
  weak("Chinese, close", PASSWORD, (_, v) => `我的密码是${v}，请记住`, ","),
  weak("Japanese", PASSWORD, (_, v) => `パスワードは ${v} です`),
]

export interface Case {
  readonly place: Place
  readonly value: string
  /** The value with its surroundings. */
  readonly text: string
}

/** `count` cases of a place. */
export function casesOf(place: Place, seed: number, count: number): Case[] {
  const dice = new Dice(seed)
  return Array.from({ length: count }, (_, n) => {
    const sort = place.sorts[n % place.sorts.length]!
    const names = NAMES[sort === "letters" ? "password" : sort]
    const name = new Name(names[Math.floor(dice.unit() * names.length)]!.split(" "))
    const makes = MAKES[sort]
    const made = makes[Math.floor(dice.unit() * makes.length)]!(
      new Noise(Math.floor(dice.unit() * 2 ** 31)),
      dice,
    )
    const value = [...made].map((unit) => (place.without.includes(unit) ? "k" : unit)).join("")
    return { place, value, text: place.text(name, value) }
  })
}

/** Whether only the value of the case was filled, and all of it; `part` if something else was. */
export function outcomeOf({ value, text }: Case, filtered: string): "filled" | "missed" | "part" {
  if (filtered === text) return "missed"
  const at = text.lastIndexOf(value)
  const whole = text.slice(0, at) + "*".repeat(value.length) + text.slice(at + value.length)
  return filtered === whole ? "filled" : "part"
}
