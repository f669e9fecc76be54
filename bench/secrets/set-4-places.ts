/** The places of the fourth set: the settings, commands and code of many tools, with what stands beside a secret. */
import {
  camel,
  capitalised,
  dotted,
  header,
  kebab,
  pascal,
  snake,
  spoken,
  titled,
  upper,
  wordsOf,
} from "./spellings.ts"
import type { Place } from "./types.ts"

type Write = Place["write"]

/** What the name's owner is called in a file that nests it, and the rest. */
const nested = (variable: string): [section: string, key: string] => {
  const [section, ...rest] = wordsOf(variable)
  return [section!, rest.length > 0 ? rest.join("_") : "secret"]
}

/** In quotation marks where the file would read something else. */
const plain = (value: string): string => (/^[\w.:/+=@%-]+$/.test(value) ? value : double(value))
const double = (value: string): string => `"${value.replaceAll("$", "\\$")}"`
const single = (value: string): string => (value.includes("'") ? `"${value}"` : `'${value}'`)
/** As an argument of a shell. */
const argument = (value: string): string => (/^[\w.:/+=@%-]+$/.test(value) ? value : single(value))
const xml = (value: string): string => value.replaceAll("&", "&amp;")

const strong = (name: string, write: Write): Place => ({ name, kind: "strong", write })
const weak = (name: string, write: Write): Place => ({ name, kind: "weak", write })
/** Places where nothing can be quoted: blanks and unusual marks are left to others. */
const word = (name: string, write: Write): Place =>
  strong(name, (v, s) =>
    /^[^\s'"&$#()\x80-\xff]+$/.test(s) ? write(v, s) : `STAGE=qa\n${upper(v)}=${single(s)}\n`,
  )

const FILES: readonly Place[] = [
  strong("dotenv", (v, s) => `APP_ENV=production\nAPP_DEBUG=false\n${upper(v)}=${argument(s)}\nQUEUE=sync\n`),
  strong("dotenv, double quotes", (v, s) => `HOST=0.0.0.0\n${upper(v)}=${double(s)}\nTZ=UTC\n`),
  strong("dotenv, single quotes", (v, s) => `HOST=0.0.0.0\n${upper(v)}=${single(s)}\nTZ=UTC\n`),
  strong("dotenv, comment behind", (v, s) => `${upper(v)}=${argument(s)} # rotated in May\nWORKERS=4\n`),
  strong(
    "dotenv, exported",
    (v, s) => `export LANG=C\nexport ${upper(v)}=${argument(s)}\nexport EDITOR=vi\n`,
  ),
  strong("dotenv, last line", (v, s) => `WORKERS=4\nLOG_FORMAT=json\n${upper(v)}=${argument(s)}`),
  word(
    "Spring properties",
    (v, s) => `server.port=9090\nspring.${dotted(v)}=${s}\nspring.jpa.show-sql=true\n`,
  ),
  word("properties, colon", (v, s) => `pool.size: 5\n${dotted(v)}: ${s}\npool.wait: 30\n`),
  word("properties, blanks", (v, s) => `cache.enabled = true\n${camel(v)} = ${s}\ncache.size = 100\n`),
  strong("yaml", (v, s) => `server:\n  port: 8080\n${snake(v)}: ${plain(s)}\nlogging: info\n`),
  strong("yaml, nested", (v, s) => {
    const [section, key] = nested(v)
    return `${section}:\n  host: db.example.net\n  user: app\n  ${key}: ${plain(s)}\n  pool: 5\n`
  }),
  strong("yaml, single quotes", (v, s) => `region: eu\n${camel(v)}: ${single(s)}\nretries: 3\n`),
  strong("yaml, double quotes", (v, s) => `region: eu\n${kebab(v)}: "${s}"\nretries: 3\n`),
  strong("yaml, comment behind", (v, s) => `region: eu\n${snake(v)}: ${plain(s)}  # keep safe\nretries: 3\n`),
  strong("yaml block", (v, s) => `data:\n  ${snake(v)}: |-\n    ${s}\n  region: eu\n`),
  strong("yaml flow", (v, s) => `db: { user: app, ${snake(v)}: "${s}", pool: 5 }\n`),
  strong(
    "yaml, list of variables",
    (v, s) => `env:\n  - name: TZ\n    value: UTC\n  - name: ${upper(v)}\n    value: ${plain(s)}\n`,
  ),
  strong("json", (v, s) => JSON.stringify({ host: "localhost", [snake(v)]: s, port: 5432 }, null, 2)),
  strong("json, one line", (v, s) => JSON.stringify({ enabled: true, [camel(v)]: s, retries: 2 })),
  strong("json, kebab", (v, s) => JSON.stringify({ [kebab(v)]: s, timeout: 30 }, null, 4)),
  strong("json, in json", (v, s) => JSON.stringify({ body: JSON.stringify({ user: "ops", [snake(v)]: s }) })),
  strong("json5", (v, s) => `{\n  // the staging account\n  ${camel(v)}: ${single(s)},\n  debug: false,\n}`),
  strong("appsettings", (v, s) => {
    const [section, key] = nested(v)
    return JSON.stringify(
      { [capitalised(section)]: { Url: "https://api.example.com", [pascal(key)]: s } },
      null,
      2,
    )
  }),
  strong("toml", (v, s) => `[service]\nport = 8000\n${snake(v)} = "${s}"\nworkers = 2\n`),
  strong("toml, literal", (v, s) => `[service]\nport = 8000\n${snake(v)} = ${single(s)}\nworkers = 2\n`),
  word("ini", (v, s) => `[database]\nhost = 127.0.0.1\n${snake(v)} = ${s}\nport = 3306\n`),
  word("ini, tight", (v, s) => `[database]\nhost=127.0.0.1\n${snake(v)}=${s}\nport=3306\n`),
  word("ini, comment behind", (v, s) => `[mail]\n${snake(v)} = ${s} ; ask ops\nport = 587\n`),
  strong("nix", (v, s) => `services.app = {\n  enable = true;\n  ${camel(v)} = "${s}";\n};\n`),
  strong("tfvars", (v, s) => `instance_type = "t3.small"\n${snake(v).padEnd(24)} = "${s}"\nenabled = true\n`),
  strong("Pulumi", (v, s) => `config:\n  aws:region: eu-west-1\n  web:${camel(v)}: ${plain(s)}\n`),
  strong("group_vars", (v, s) => `---\napp_port: 8443\n${snake(v)}: ${single(s)}\napp_user: deploy\n`),
  strong(
    "stringData",
    (v, s) => `kind: Secret\nstringData:\n  username: app\n  ${kebab(v)}: ${plain(s)}\ntype: Opaque\n`,
  ),
  strong(
    "compose, list",
    (v, s) => `    environment:\n      - TZ=UTC\n      - "${upper(v)}=${s}"\n    restart: always\n`,
  ),
  strong(
    "compose, map",
    (v, s) => `    environment:\n      TZ: UTC\n      ${upper(v)}: ${plain(s)}\n    restart: always\n`,
  ),
  strong("workflow", (v, s) => `    env:\n      CI: true\n      ${upper(v)}: ${plain(s)}\n    steps:\n`),
  strong(
    "Dockerfile",
    (v, s) => `FROM alpine:3\nENV ${upper(v)}=${argument(s)} \\\n    PORT=80\nCMD ["run"]\n`,
  ),
  word("Dockerfile, blank", (v, s) => `FROM alpine:3\nENV ${upper(v)} ${s}\nEXPOSE 80\n`),
  strong("systemd", (v, s) => `[Service]\nEnvironment="${upper(v)}=${s}"\nExecStart=/usr/bin/web\n`),
  strong("supervisord", (v, s) => `[program:web]\nenvironment=LANG="C",${upper(v)}="${s}",HOME="/srv"\n`),
  strong(
    "xml element",
    (v, s) => `<config>\n  <port>80</port>\n  <${camel(v)}>${xml(s)}</${camel(v)}>\n</config>`,
  ),
  strong("xml attribute", (v, s) => `<connection host="db" user="app" ${camel(v)}="${xml(s)}" pool="5"/>`),
  strong("xml, add key", (v, s) => `<add key="${pascal(v)}" value="${xml(s)}" />`),
  strong("plist", (v, s) => `<key>${camel(v)}</key>\n\t<string>${xml(s)}</string>\n\t<key>Region</key>`),
  strong("wp-config", (v, s) => `define('WP_DEBUG', false);\ndefine('${upper(v)}', ${single(s)});\n`),
  strong(
    "PHP settings",
    (v, s) =>
      `return [\n    'driver' => 'mysql',\n    '${snake(v)}' => ${single(s)},\n    'prefix' => '',\n];`,
  ),
  strong("Django settings", (v, s) => `DEBUG = True\n${upper(v)} = ${single(s)}\nALLOWED_HOSTS = []\n`),
  strong("Ruby settings", (v, s) => `config.${snake(v)} = "${s}"\nconfig.timeout = 5\n`),
  strong("xcconfig", (v, s) => `PRODUCT_NAME = App\n${upper(v)} = ${s}\nSWIFT_VERSION = 5.0\n`),
  word("rclone", (v, s) => `[remote]\ntype = s3\nprovider = Minio\n${snake(v)} = ${s}\nregion = other-v2\n`),
]

const LOGINS: readonly Place[] = [
  word(".netrc", (_, s) => `machine git.example.com\n  login deploy\n  password ${s}\n`),
  word(".netrc, one line", (_, s) => `machine git.example.com login deploy password ${s}\n`),
  word(".pgpass", (_, s) => `*:*:orders:app:${s.replaceAll(":", "\\:")}\n`),
  word("msmtp", (_, s) => `account work\nhost smtp.example.com\nuser ops\npassword ${s}\nauth on\n`),
  word("redis.conf", (_, s) => `port 6379\nrequirepass ${s}\nappendonly yes\n`),
  strong("wpa_supplicant", (_, s) => `network={\n  ssid="office"\n  psk="${s}"\n}\n`),
  word("hostapd", (_, s) => `ssid=office\nwpa=2\nwpa_passphrase=${s}\n`),
  word("sssd", (_, s) => `ldap_default_bind_dn = cn=svc\nldap_default_authtok = ${s}\nldap_tls = demand\n`),
  word("ldap.conf", (_, s) => `base dc=example,dc=com\nbinddn cn=svc\nbindpw ${s}\nscope sub\n`),
  word("my.cnf", (_, s) => `[client]\nuser=root\npassword=${s}\nhost=localhost\n`),
  word(".s3cfg", (_, s) => `access_key = svc\nsecret_key = ${s}\nuse_https = True\n`),
  word("git-credentials", (_, s) => `https://deploy:${encodeURIComponent(s)}@git.example.com\n`),
  strong("tomcat-users", (_, s) => `<user username="admin" password="${xml(s)}" roles="manager-gui"/>`),
  strong(
    "Maven settings",
    (_, s) => `<server>\n<id>nexus</id>\n<username>ci</username>\n<password>${xml(s)}</password>\n</server>`,
  ),
  word(
    "conninfo",
    (_, s) => `host=db.example.net port=5432 dbname=shop user=app password=${s} sslmode=require`,
  ),
  word("ODBC", (_, s) => `Driver={PostgreSQL};Server=db;Database=shop;Uid=app;Pwd=${s};`),
  word(
    "SQL Server",
    (_, s) => `"Server=db;Database=Shop;User Id=app;Password=${s};TrustServerCertificate=True"`,
  ),
  word("JDBC", (_, s) => `jdbc:mysql://db:3306/shop?user=app&password=${encodeURIComponent(s)}&useSSL=false`),
  word(
    "database URL",
    (_, s) => `DATABASE_URL=postgres://app:${encodeURIComponent(s)}@db.example.net:5432/shop\n`,
  ),
  word("redis URL", (_, s) => `REDIS_URL=redis://:${encodeURIComponent(s)}@cache.example.net:6379/0\n`),
  strong("CREATE USER", (_, s) => `CREATE USER app WITH ENCRYPTED PASSWORD ${single(s)};`),
  strong("ALTER ROLE", (_, s) => `ALTER ROLE app PASSWORD ${single(s)};\nALTER ROLE app LOGIN;`),
  strong("IDENTIFIED BY", (_, s) => `ALTER USER 'root'@'localhost' IDENTIFIED BY ${single(s)};`),
  strong(
    "Prometheus",
    (_, s) => `basic_auth:\n  username: metrics\n  password: ${plain(s)}\nscheme: https\n`,
  ),
  word("Grafana", (_, s) => `[security]\nadmin_user = admin\nadmin_password = ${s}\n`),
  strong("sftp.json", (_, s) =>
    JSON.stringify({ host: "ftp.example.com", username: "web", password: s, port: 22 }),
  ),
  strong("kubeconfig", (_, s) => `- name: admin\n  user:\n    username: admin\n    password: ${plain(s)}\n`),
]

const COMMANDS: readonly Place[] = [
  strong("export", (v, s) => `$ export ${upper(v)}=${argument(s)} && npm start`),
  strong("before a command", (v, s) => `$ ${upper(v)}=${argument(s)} PORT=80 ./run.sh`),
  strong("fish", (v, s) => `set -gx ${upper(v)} ${single(s)}`),
  strong("csh", (v, s) => `setenv ${upper(v)} ${single(s)}`),
  strong("setx", (v, s) => `C:\\> setx ${upper(v)} "${s}"`),
  strong("PowerShell", (v, s) => `PS> $env:${upper(v)} = "${s}"`),
  strong("PowerShell variable", (v, s) => `$${camel(v)} = ${single(s)}\nWrite-Host "done"`),
  strong("option", (v, s) => `$ tool sync --region eu --${kebab(v)} ${argument(s)} --force`),
  strong("option, equals", (v, s) => `$ tool sync --${kebab(v)}=${argument(s)} --force`),
  strong("option, quoted", (v, s) => `$ tool sync --${kebab(v)} "${s}" --force`),
  strong("docker -e", (v, s) => `$ docker run -d -e TZ=UTC -e ${upper(v)}=${argument(s)} -p 80:80 acme/web`),
  strong("docker --env", (v, s) => `$ docker run --env ${upper(v)}=${argument(s)} acme/web`),
  strong("helm --set", (v, s) => `$ helm upgrade web ./chart --set auth.${camel(v)}=${argument(s)} --wait`),
  strong(
    "from-literal",
    (v, s) => `$ kubectl create secret generic web --from-literal=${snake(v)}=${argument(s)}`,
  ),
  strong("fly secrets", (v, s) => `$ fly secrets set ${upper(v)}=${argument(s)} -a web`),
  strong("netlify", (v, s) => `$ netlify env:set ${upper(v)} ${argument(s)}`),
  strong(
    "keyvault",
    (v, s) => `$ az keyvault secret set --vault-name ops --name ${kebab(v)} --value ${argument(s)}`,
  ),
  strong(
    "ssm",
    (v, s) => `$ aws ssm put-parameter --name /web/${upper(v)} --value ${argument(s)} --type SecureString`,
  ),
  strong("terraform -var", (v, s) => `$ terraform apply -var "${snake(v)}=${s}" -auto-approve`),
  strong("ansible -e", (v, s) => `$ ansible-playbook site.yml -e "${snake(v)}=${s}"`),
  strong("Java property", (v, s) => `$ java -Xmx1g -D${dotted(v)}=${argument(s)} -jar app.jar`),
  strong("build-arg", (v, s) => `$ docker build --build-arg ${upper(v)}=${argument(s)} .`),
  strong("curl -u", (_, s) => `$ curl -u ${argument(`ops:${s}`)} https://api.example.com/`),
  strong("sshpass", (_, s) => `$ sshpass -p ${argument(s)} ssh ops@10.0.0.4`),
  strong("mysql", (_, s) => `$ mysql -u root -p${argument(s)} shop`),
  strong("redis-cli", (_, s) => `$ redis-cli -h cache -a ${argument(s)} ping`),
  strong("docker login", (_, s) => `$ docker login -u ops -p ${argument(s)} registry.example.com`),
  strong("PGPASSWORD", (_, s) => `$ PGPASSWORD=${argument(s)} psql -h db -U app shop`),
  strong("MYSQL_PWD", (_, s) => `$ MYSQL_PWD=${argument(s)} mysqldump shop`),
  strong("wget", (_, s) => `$ wget --user=ops --password=${argument(s)} https://files.example.com/a.zip`),
  strong("openssl", (_, s) => `$ openssl pkcs12 -in a.p12 -passin pass:${argument(s)} -nodes`),
  strong("keytool", (_, s) => `$ keytool -list -keystore a.jks -storepass ${argument(s)}`),
  strong("gpg", (_, s) => `$ gpg --batch --passphrase ${argument(s)} -d a.gpg`),
  strong(
    "curl, json",
    (v, s) => `$ curl -d '{"user":"ops","${snake(v)}":"${s}"}' https://api.example.com/login`,
  ),
  strong("curl, header", (v, s) => `$ curl -H "X-${header(v)}: ${s}" https://api.example.com/`),
  strong("form", (_, s) => `grant_type=password&username=ops&password=${encodeURIComponent(s)}&scope=all`),
  strong("header", (v, s) => `GET / HTTP/1.1\nHost: api.example.com\nX-${header(v)}: ${s}\nAccept: */*\n`),
]

const OTHERS: readonly Place[] = [
  weak("const", (v, s) => `const ${camel(v)} = "${s}";`),
  weak("typed", (v, s) => `private ${camel(v)}: string = '${s.replaceAll("'", "\\'")}';`),
  weak("keyword argument", (v, s) => `connect(host="db", user="app", ${snake(v)}="${s}")`),
  weak("getenv default", (v, s) => `os.environ.get("${upper(v)}", "${s}")`),
  weak("Go", (v, s) => `\tcfg.${pascal(v)} = "${s}"`),
  weak("Java", (v, s) => `private static final String ${upper(v)} = "${s}";`),
  weak("setter", (v, s) => `dataSource.set${pascal(v)}("${s}");`),
  weak("log", (v, s) => `12:00:01 DEBUG starting with ${camel(v)}=${s} region=eu`),
  weak("env output", (v, s) => `HOME=/root\n${upper(v)}=${s}\nSHLVL=1`),
  weak("table", (v, s) => `| ${titled(v)} | ${s} |`),
  weak("list", (v, s) => `- **${titled(v)}**: \`${s}\``),
  weak("colon", (v, s) => `${titled(v)}: ${s}\nRegion: eu`),
  weak("sentence", (v, s) => `The ${spoken(v)} is ${s} for now.`),
  weak("sentence, quoted", (v, s) => `Please take care, the ${spoken(v)} is "${s}".`),
  weak("diff", (v, s) => `-${snake(v)}: ${s}\n+${snake(v)}: changed`),
]

export const PLACES: readonly Place[] = [...FILES, ...LOGINS, ...COMMANDS, ...OTHERS]
