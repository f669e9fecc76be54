/**
 * The fifth set: the sample settings of sixty frameworks and tools, with the names that their own documents use. What
 * stands there is what a service hands out (`KEY`) or what a person thinks of (`PASSWORD`); many of the places name
 * each in a line of its own. Written before the rules it measures were changed for it.
 */
import type { Place, SecretSet, Service } from "./types.ts"

type Write = (value: string) => string

/** A place in which keys and passwords stand in lines of their own, or in the same. */
const file = (name: string, key: Write, password: Write = key): Place => ({
  name,
  kind: "strong",
  write: (variable, value) => (variable === "KEY" ? key(value) : password(value)),
})

const double = (value: string): string => `"${value}"`
const single = (value: string): string => (value.includes("'") ? double(value) : `'${value}'`)
const isPlain = (value: string): boolean => /^[\w.:/+=@%-]+$/.test(value)
/** Where only a service's keys stand. */
const none: Write = () => ""
/** In quotation marks where the file would read something else. */
const plain = (value: string): string => (isPlain(value) ? value : double(value))
const argument = (value: string): string => (isPlain(value) ? value : single(value))
const xml = (value: string): string => value.replaceAll("&", "&amp;")
const base64 = (value: string): string => Buffer.from(value).toString("base64")

const FRAMEWORKS: readonly Place[] = [
  file(
    "Rails credentials.yml",
    (s) => `production:\n  secret_key_base: ${plain(s)}\n  log_level: info\n`,
    (s) => `smtp:\n  address: mail.acme.test\n  user_name: robot\n  password: ${plain(s)}\n`,
  ),
  file(
    "Rails database.yml",
    (s) => `production:\n  adapter: postgresql\n  username: shop\n  password: ${double(s)}\n  pool: 5\n`,
  ),
  file(
    "Django settings.py",
    (s) => `DEBUG = False\nSECRET_KEY = ${single(s)}\nALLOWED_HOSTS = ['*']\n`,
    (s) =>
      `DATABASES = {\n    'default': {\n        'USER': 'shop',\n        'PASSWORD': ${single(s)},\n    }\n}\n`,
  ),
  file(
    "Laravel .env",
    (s) => `APP_NAME=Shop\nAPP_KEY=${argument(s)}\nAPP_DEBUG=false\n`,
    (s) => `DB_HOST=db\nDB_USERNAME=shop\nDB_PASSWORD=${argument(s)}\n\nMAIL_PORT=25\n`,
  ),
  file(
    "Symfony .env",
    (s) => `APP_ENV=prod\nAPP_SECRET=${argument(s)}\n`,
    (s) => `JWT_PASSPHRASE=${argument(s)}\nAPP_ENV=prod\n`,
  ),
  file(
    "Spring application.yml",
    (s) => `app:\n  jwt:\n    secret: ${plain(s)}\n    expiration: 3600\n`,
    (s) => `spring:\n  datasource:\n    username: shop\n    password: ${plain(s)}\n`,
  ),
  file(
    "ASP.NET appsettings.json",
    (s) => `{\n  "Jwt": {\n    "Issuer": "shop",\n    "SigningKey": ${double(s)}\n  }\n}\n`,
    (s) => `{\n  "Smtp": { "Host": "mail.acme.test", "UserName": "shop", "Password": ${double(s)} }\n}\n`,
  ),
  file(
    "Flask config.py",
    (s) => `class Config:\n    SECRET_KEY = ${double(s)}\n    TESTING = False\n`,
    (s) => `class Config:\n    MAIL_USERNAME = "shop"\n    MAIL_PASSWORD = ${double(s)}\n`,
  ),
  file(
    "Phoenix config.exs",
    (s) => `config :shop, ShopWeb.Endpoint,\n  secret_key_base: ${double(s)},\n  server: true\n`,
    (s) => `config :shop, Shop.Repo,\n  username: "shop",\n  password: ${double(s)},\n  pool_size: 10\n`,
  ),
  file(
    "wp-config.php",
    (s) => `define( 'AUTH_KEY',         ${single(s)} );\ndefine( 'WP_DEBUG', false );\n`,
    (s) => `define( 'DB_USER', 'shop' );\ndefine( 'DB_PASSWORD', ${single(s)} );\n`,
  ),
  file(
    "Drupal settings.php",
    (s) => `$settings['hash_salt'] = ${single(s)};\n`,
    (s) =>
      `$databases['default']['default'] = [\n  'username' => 'shop',\n  'password' => ${single(s)},\n];\n`,
  ),
  file(
    "Joomla configuration.php",
    (s) => `\tpublic $user = 'shop';\n\tpublic $secret = ${single(s)};\n`,
    (s) => `\tpublic $user = 'shop';\n\tpublic $password = ${single(s)};\n`,
  ),
  file(
    "Magento env.php",
    (s) => `    'crypt' => [\n        'key' => ${single(s)}\n    ],\n`,
    (s) => `    'username' => 'shop',\n    'password' => ${single(s)},\n    'active' => '1',\n`,
  ),
  file(
    "phpunit.xml",
    (s) => `<php>\n  <env name="APP_KEY" value="${xml(s)}"/>\n</php>\n`,
    (s) => `<php>\n  <env name="DB_PASSWORD" value="${xml(s)}" force="true"/>\n</php>\n`,
  ),
  file(
    "Meteor settings.json",
    (s) => `{"public": {"locale": "de"}, "oauth": {"clientId": "shop", "secret": ${double(s)}}}\n`,
    (s) => `{"mail": {"user": "shop", "pass": ${double(s)}}}\n`,
  ),
  file(
    "Nuxt runtimeConfig",
    (s) => `  runtimeConfig: {\n    apiSecret: ${single(s)},\n    public: { base: '/api' },\n  },\n`,
    (s) => `  runtimeConfig: {\n    dbPassword: ${single(s)},\n    public: { base: '/api' },\n  },\n`,
  ),
]

const OPERATIONS: readonly Place[] = [
  file(
    "Helm values.yaml",
    (s) => `existingSecret: ""\nauth:\n  enabled: true\n  token: ${double(s)}\n`,
    (s) => `auth:\n  username: shop\n  postgresPassword: ${double(s)}\n  database: shop\n`,
  ),
  file(
    "terraform.tfvars",
    (s) => `region      = "eu-1"\napi_token   = ${double(s)}\n`,
    (s) => `db_username = "shop"\ndb_password = ${double(s)}\n`,
  ),
  file(
    "Terraform provider",
    (s) => `provider "cloud" {\n  region     = "eu-1"\n  secret_key = ${double(s)}\n}\n`,
    (s) => `resource "aws_db_instance" "a" {\n  username = "shop"\n  password = ${double(s)}\n}\n`,
  ),
  file(
    "docker-compose map",
    (s) => `    environment:\n      API_SECRET: ${plain(s)}\n      TZ: UTC\n`,
    (s) => `    environment:\n      MYSQL_ROOT_PASSWORD: ${plain(s)}\n      MYSQL_DATABASE: shop\n`,
  ),
  file(
    "docker-compose list",
    (s) =>
      `    environment:\n      - ${isPlain(s) ? `API_SECRET=${s}` : double(`API_SECRET=${s}`)}\n      - TZ=UTC\n`,
    (s) =>
      `    environment:\n      - ${isPlain(s) ? `DB_PASS=${s}` : double(`DB_PASS=${s}`)}\n      - TZ=UTC\n`,
  ),
  file(
    "Dockerfile ENV",
    (s) => `FROM alpine:3\nENV API_TOKEN ${argument(s)}\nEXPOSE 80\n`,
    (s) => `FROM alpine:3\nENV ROOT_PASSWORD ${argument(s)}\nEXPOSE 80\n`,
  ),
  file(
    "GitHub Actions env",
    (s) => `      - run: make deploy\n        env:\n          DEPLOY_KEY: ${plain(s)}\n          CI: true\n`,
    (s) =>
      `      - run: make deploy\n        env:\n          SUDO_PASSWORD: ${plain(s)}\n          CI: true\n`,
  ),
  file(
    "GitLab CI variables",
    (s) => `variables:\n  REGISTRY_TOKEN: ${double(s)}\n  GIT_DEPTH: 1\n`,
    (s) => `variables:\n  REGISTRY_PASSWORD: ${double(s)}\n  GIT_DEPTH: 1\n`,
  ),
  file(
    "Ansible vars",
    (s) => `---\nshop_api_key: ${double(s)}\nshop_port: 80\n`,
    (s) => `---\nansible_user: root\nansible_become_pass: ${double(s)}\n`,
  ),
  file(
    "Ansible inventory",
    (s) => `web1 ansible_host=10.0.0.5 ansible_user=root ansible_ssh_pass=${argument(s)}\n`,
  ),
  file(
    "Kubernetes stringData",
    (s) => `kind: Secret\ntype: Opaque\nstringData:\n  api-key: ${plain(s)}\n`,
    (s) => `kind: Secret\ntype: Opaque\nstringData:\n  username: shop\n  password: ${plain(s)}\n`,
  ),
  file(
    "Kubernetes data",
    (s) => `apiVersion: v1\ndata:\n  api-key: ${base64(s)}\nkind: Secret\n`,
    (s) => `apiVersion: v1\ndata:\n  username: c2hvcA==\n  password: ${base64(s)}\nkind: Secret\n`,
  ),
  file(
    "systemd Environment=",
    (s) => `[Service]\nEnvironment="API_TOKEN=${s}"\nExecStart=/usr/bin/shop\n`,
    (s) => `[Service]\nEnvironment="DB_PASSWORD=${s}"\nExecStart=/usr/bin/shop\n`,
  ),
  file(
    "Vault kv put",
    (s) => `$ vault kv put secret/shop api_key=${argument(s)}\n`,
    (s) => `$ vault kv put secret/shop username=shop password=${argument(s)}\n`,
  ),
  file(
    "Vault kv get",
    (s) => `====== Data ======\nKey         Value\n---         -----\napi_key     ${s}\n`,
    (s) => `====== Data ======\nKey         Value\n---         -----\npassword    ${s}\n`,
  ),
  file("Kafka jaas.conf", (s) => `KafkaServer {\n  username="admin"\n  password=${double(s)}\n};\n`),
  file(
    "Kafka sasl.jaas.config",
    (s) => `sasl.jaas.config=PlainLoginModule required username="shop" password=${double(s)};\n`,
  ),
  file(
    "redis.conf",
    (s) => `port 6379\nrequirepass ${plain(s)}\nappendonly no\n`,
    (s) => `replicaof 10.0.0.2 6379\nmasterauth ${plain(s)}\n`,
  ),
  file(
    "mongod connection",
    (s) => `mongosh --host db.acme.test -u root -p ${argument(s)} --authenticationDatabase admin\n`,
  ),
  file("my.cnf", (s) => `[client]\nuser = shop\npassword = ${plain(s)}\nhost = db\n`),
  file("pgpass", (s) => `db.acme.test:5432:shop:shop:${s.replaceAll(":", "")}\n`),
  file("Nomad job", (s) => `      env {\n        DB_PASSWORD = ${double(s)}\n        PORT = "80"\n      }\n`),
  file(
    "CloudFormation parameters",
    (s) => `[{"ParameterKey": "ApiSecret", "ParameterValue": ${double(s)}}]\n`,
    (s) => `[{"ParameterKey": "DBPassword", "ParameterValue": ${double(s)}}]\n`,
  ),
  file(
    "ECS task definition",
    (s) => `"environment": [{ "name": "API_SECRET", "value": ${double(s)} }]\n`,
    (s) => `"environment": [{ "name": "DB_PASSWORD", "value": ${double(s)} }]\n`,
  ),
]

const CLIENTS: readonly Place[] = [
  file(".npmrc token", (s) => `//npm.acme.test/:_authToken=${plain(s)}\nalways-auth=true\n`, none),
  file(".npmrc password", (s) => `//npm.acme.test/:username=shop\n//npm.acme.test/:_password=${base64(s)}\n`),
  file(".pypirc", (s) => `[pypi]\nrepository = https://pypi.acme.test\nusername = shop\npassword = ${s}\n`),
  file(
    "pip.conf",
    (s) => `[global]\nindex-url = https://shop:${encodeURIComponent(s)}@pypi.acme.test/simple\n`,
  ),
  file(
    "nuget.config",
    (s) => `<add key="Username" value="shop" />\n<add key="ClearTextPassword" value="${xml(s)}" />\n`,
  ),
  file(
    "Maven settings.xml",
    (s) =>
      `<server>\n  <id>nexus</id>\n  <username>shop</username>\n  <password>${xml(s)}</password>\n</server>\n`,
  ),
  file(
    "gradle.properties",
    (s) => `org.gradle.daemon=true\nnexusToken=${s}\n`,
    (s) => `org.gradle.daemon=true\nnexusPassword=${s}\n`,
  ),
  file(
    "Gradle signing",
    (s) =>
      `  signingConfigs {\n    release {\n      storePassword ${single(s)}\n      keyAlias 'shop'\n    }\n  }\n`,
  ),
  file("sbt credentials", (s) => `realm=Sonatype Nexus\nhost=nexus.acme.test\nuser=shop\npassword=${s}\n`),
  file(
    "composer auth.json",
    (s) => `{"gitlab-token": {"git.acme.test": ${double(s)}}}\n`,
    (s) => `{"http-basic": {"repo.acme.test": {"username": "shop", "password": ${double(s)}}}}\n`,
  ),
  file("netrc", (s) => `machine git.acme.test\n  login shop\n  password ${s.replaceAll(" ", "-")}\n`),
  file(
    "curl header",
    (s) => `curl -s -H "X-Api-Key: ${s}" https://api.acme.test/v1/orders\n`,
    (s) => `curl -s -u ${argument(`shop:${s}`)} https://api.acme.test/v1/orders\n`,
  ),
  file(
    "curl bearer",
    (s) => `TOKEN=${argument(s)}\ncurl -H "Authorization: Bearer $TOKEN" https://api.acme.test\n`,
    (s) => `PASSWORD=${argument(s)}\ncurl -u "shop:$PASSWORD" https://api.acme.test\n`,
  ),
  file(
    "Postman environment",
    (s) => `{ "key": "api_token", "value": ${double(s)}, "type": "secret", "enabled": true }\n`,
    (s) => `{ "key": "password", "value": ${double(s)}, "type": "default", "enabled": true }\n`,
  ),
  file(
    "Postman auth",
    (s) => `"bearer": [{ "key": "token", "value": ${double(s)}, "type": "string" }]\n`,
    (s) => `"basic": [{ "key": "password", "value": ${double(s)}, "type": "string" }]\n`,
  ),
  file(
    "Firebase functions config",
    (s) => `firebase functions:config:set shop.key=${argument(s)}\n`,
    (s) => `firebase functions:config:set smtp.password=${argument(s)}\n`,
  ),
  file(
    "Supabase .env",
    (s) => `API_PORT=8000\nJWT_SECRET=${argument(s)}\nSITE_URL=http://localhost:3000\n`,
    (s) => `DASHBOARD_USERNAME=supabase\nDASHBOARD_PASSWORD=${argument(s)}\n`,
  ),
  file(".s3cfg", (s) => `[default]\nbucket_location = US\nsecret_key = ${s}\nuse_https = True\n`, none),
  file(
    "rclone.conf",
    (s) => `[store]\ntype = s3\nprovider = Minio\nsecret_access_key = ${s}\n`,
    (s) => `[box]\ntype = webdav\nuser = shop\npass = ${s}\n`,
  ),
  file("AWS credentials", (s) => `[default]\naws_secret_access_key = ${s}\nregion = eu-west-1\n`, none),
  file("AWS configure", (s) => `aws configure set aws_secret_access_key ${argument(s)}\n`, none),
  file(
    "GCP JSON",
    (s) => `{"client_id": "shop.apps", "client_secret": ${double(s)}, "refresh_token": "none"}\n`,
    none,
  ),
  file(
    "Azure connection string",
    (s) => `AccountName=shop;AccountKey=${s};EndpointSuffix=core.windows.net\n`,
    (s) => `"Server=tcp:shop.acme.test;User ID=shop;Password=${s};Encrypt=True;"\n`,
  ),
  file("JDBC URL", (s) => `jdbc:mysql://db.acme.test/shop?user=shop&password=${encodeURIComponent(s)}\n`),
  file("git credentials", (s) => `https://shop:${encodeURIComponent(s)}@git.acme.test\n`),
  file("msmtprc", (s) => `account acme\nuser shop\npassword ${plain(s)}\n`),
  file("wpa_supplicant", (s) => `network={\n  ssid="Office"\n  psk=${double(s)}\n}\n`),
  file("sshpass", (s) => `sshpass -p ${argument(s)} ssh root@10.0.0.5 uptime\n`),
  file("smbclient credentials", (s) => `username=shop\npassword=${s}\ndomain=ACME\n`),
]

type Row = readonly [variable: "KEY" | "PASSWORD", name: string, shape: string]

const ROWS: readonly Row[] = [
  ["KEY", "hexadecimal", "{h32}"],
  ["KEY", "hexadecimal, long", "{h64}"],
  ["KEY", "letters and digits", "{A40}"],
  ["KEY", "letters and digits, short", "{A20}"],
  ["KEY", "base64", "{b43}="],
  ["KEY", "URL-safe", "{w48}"],
  ["KEY", "UUID", "{h8}-{h4}-{h4}-{h4}-{h12}"],
  ["KEY", "small letters and digits", "{a24}"],
  ["KEY", "with marks", "{p50}"],
  ["PASSWORD", "generated", "{A16}"],
  ["PASSWORD", "generated, marks", "{p14}"],
  ["PASSWORD", "letters", "{l9}"],
  ["PASSWORD", "one word", "{e1}"],
  ["PASSWORD", "word and digits", "{E1}{d3}"],
  ["PASSWORD", "word, year and mark", "{E1}{d4}!"],
  ["PASSWORD", "two words", "{e1}{E1}{d1}"],
  ["PASSWORD", "three words", "{e1}-{e1}-{e1}"],
  ["PASSWORD", "four words with blanks", "{e1} {e1} {e1} {e1}"],
  ["PASSWORD", "digits", "{d8}"],
  ["PASSWORD", "short", "{a7}"],
  ["PASSWORD", "with an at sign", "{E1}@{d3}"],
  ["PASSWORD", "with a mark inside", "{A5}#{A4}"],
]

const services: Service[] = ROWS.map(([variable, name, shape]) => ({
  name,
  variable,
  shape,
  isPrefixed: false,
}))

export const SET_5: SecretSet = {
  name: "5",
  services,
  places: [...FRAMEWORKS, ...OPERATIONS, ...CLIENTS],
  barePlaces: [],
}
