/** Values of any look where settings plainly give them to a name that only secrets have. */
import { describe, expect, test } from "bun:test"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"

const inRecord = (text: string): string => {
  const line = `${JSON.stringify({ type: "user", message: { content: text } })}\n`
  return JSON.parse(Buffer.from(filterLines(Buffer.from(line), 0, FILTERED).content).toString()).message
    .content
}

/** The value is marked by angle brackets. */
describe("filled", () => {
  test.each([
    // Words, alone and joined.
    ["APP_PORT=80\nSMTP_PASSWORD=«window-spider»\nTZ=UTC\n"],
    ["SMTP_PASSWORD=«cricket-garden» # since May\nWORKERS=4\n"],
    ["mail_password: «LanternOrchid»\nlogging: info\n"],
    ["vault.passphrase: «velvet-clover-otter»\npool: 3\n"],
    ["backupPassphrase: '«nectar_captain_hammer_351»'\n"],
    ["<password>«comet»</password>"],
    ["config.smtp_password = '«monkey-blanket»'\n"],
    ['PGP_PASSPHRASE="«galaxy hammer hunter blossom»"\nTZ=UTC\n'],
    ['{"host": "db", "gpg_passphrase": "«olive ribbon jasmine rocket»"}'],
    ["grant_type=password&username=ops&password=«wizard-magnet»&scope=all"],
    ["host=db port=5432 user=app password=«copperharbor» sslmode=require"],
    ["$ docker build --build-arg SMTP_PASSWORD=«hazel-thunder» ."],
    ["$ helm upgrade web ./chart --set auth.smtpPassword=«hazel-thunder» --wait"],
    ["$ tool sync --smtp-password «hazel-thunder» --force"],
    ["$ netlify env:set SMTP_PASSWORD «hazel-thunder»"],
    // Digits.
    ["sim_pin=«492535»\nport=3306\n"],
    ["root.password: «65628829»\npool: 3\n"],
    ['toml = 1\nsim_pin = "«231384»"\n'],
    ["- name: SIM_PIN\n  value: «955342»\n"],
    // Letters.
    ["LDAP_BIND_PASSWORD=«XPaeubJ»\nTZ=UTC\n"],
    ['{"postgres-password": "«KoaidLuhajRt»"}'],
    ["LINKEDIN_CLIENT_SECRET=«YTueXEYLbzNAGaNG»\n"],
    ['nexmoApiSecret = "«fFYYtqnPRFlJMgkR»"\n'],
    ["RABBITMQ_ERLANG_COOKIE=«HJRLGOXELOZZMPKWOVEV»\n"],
    // Marks that code has, too.
    ["  password: «zmggf.sdyh11»\n  pool: 5\n"],
    ['ORACLE_PWD="«7z3E(IqV)1s»"\n'],
    ["neo4j_password=«muUMIZ=PXwTH»\n"],
    ['imap_password: "«Planet-KW9f-gr\u00fcn70»"\n'],
    ["password = '«m{{h}o)p\u0024{e]nob(ody[finds-_$#thisone}}»'\n"],
    // Names.
    ["DB_PASS_PROD=«3XqTc0grC8Ey»\n"],
    ["NONCE_SALT='«iOa8aurMUc$FmJsy*!4t!SJmTDUjmesN2Lr8eRJRKAgj1R»'\n"],
    ['api_token_salt = "«J1rK25fPlNcUrVhW6L/DhO==»"\n'],
    ['network={\n  ssid="office"\n  psk="«nqaargnmsx»"\n}\n'],
    ["port 6379\nrequirepass «hammer-hunter»\nappendonly yes\n"],
    ["ldap_default_authtok = «l0i8dLOxXs»\nldap_tls = demand\n"],
    ["binddn cn=svc\nbindpw «ayhwagperj»\nscope sub\n"],
    ["$ keytool -list -keystore a.jks -storepass «k3Cn7rmYV5»"],
    ["totp_seed: «VPYWDQWWVUUACVVAZCOKAEWHWPSZTPNX»\n"],
    ["server.port=8081\napp.tg.api.hash=«9ecb5275b9a853b4f924ba4dd36c6250»\n"],
    ["secret.key.base=«486c86f8f0ae5225fca54963529bb21b1565f49fa74f320e»\n"],
    ["mj.apikey.private=«3399c9ee9c4beaacf45ca8c92ba44e0a»\n"],
    ['openweather_appid = "«98e9dbdc0aa9ebfa18357f778ca6a3e7»"\n'],
    ["WORKERS=4\nBACKUP_PASSPHRASE=«correct anchor battery»\nTZ=UTC\n"],
    ["$ SSH_PASSPHRASE=«qpmhwx auzwx quzmgpc dbwh» node server.js"],
    ["secret_key = «hammer»\nuse_https = True\n"],
    ["signing_salt: «wuxjc+lk»\nlogging: info\n"],
    ["FROM alpine:3\nENV SIM_PIN «401010»\nEXPOSE 80\n"],
    ["SPACES_KEY=«DOMVBKVDWH1FPSICOZ8I»\nPWD=/srv\n"],
    ["[box]\ntype = webdav\nuser = shop\npass = «violet-lantern»\n"],
    ['{"mail": {"user": "shop", "pass": "«lantern-feather-magnet»"}}'],
    ["Key         Value\n---         -----\npassword    «violet»\n"],
    ['[{"ParameterKey": "DBPassword", "ParameterValue": "«olive-Tiger-77»"}]'],
    ['{"gitlab-token": {"git.example.com": "«hR3kPz81mWq2TbLx0cVn»"}}'],
    ["      storePassword '«lantern»'\n      keyAlias 'shop'\n"],
    ["replicaof 10.0.0.2 6379\nmasterauth «garden»\n"],
    ["KAFKA_SASL_PASSWORD=«GmpmwytbGgfzmZWnIYsdhF==»"],
    ["<config><routerPassword>«PVVd'bHy9G8»</routerPassword></config>"],
    ["$ openssl pkcs12 -in a.p12 -passin pass:«cedar» -nodes"],
    ["$ mongosh --host db.example.com -u root -p «lanterns» --quiet"],
    ["$ docker login -u ops -p '«feather saddle puzzle island»' registry.example.com"],
    ["headers = {'X-Auth-Token': '«jkxkmf remrm uovfkso grhh»'}"],
    // Logins.
    ["machine git.example.com login deploy password «comet»\n"],
    ["machine git.example.com\n  login deploy\n  password «avmhgsyvyvtevznp»\n"],
    ["*:*:orders:app:«feather»\n"],
    ["db.example.net:5432:orders:app:«QVZLDJCUMSHWKRJMNLIR»\n"],
    ["$ curl -u deploy:«maplewood» https://api.example.com/"],
    ["$ sshpass -p «lanterns» ssh ops@10.0.0.4"],
    ["$ docker login -u ops -p «idoyrksnof» registry.example.com"],
    ["CREATE USER app WITH LOGIN PASSWORD '«bbhkvvtxrsfcvdoa»';"],
    ["curl -H 'Authorization: Token «x10a7xdiDaTT»' https://api.example.com/"],
    ['headers: { "Authorization": "Bearer «nLOiA8dmcO2U»" }'],
  ])("%j", (marked) => {
    const [before, value, after] = marked.split(/[«»]/)
    const text = before! + value! + after!
    const expected = before! + "*".repeat(Buffer.byteLength(value!)) + after!
    expect(filterText(text, FILTERED)).toBe(expected)
    expect(inRecord(text)).toBe(expected)
  })
})

describe("not filled", () => {
  test.each([
    // Types, fields and labels of the same names.
    ["class Login(BaseModel):\n    password: SecretStr\n    pin: Optional\n"],
    ["type Login {\n  password: String!\n  passphrase: NonEmptyText\n}\n"],
    ["interface Login {\n  password: FormControl\n  pwd: HTMLElement\n}\n"],
    ['{"password": "Mot de passe", "passphrase": "Enter the passphrase of your key"}'],
    ['{"password": "Passwort", "new_password": "Neues Passwort eingeben"}'],
    ["errors:\n  password: is too short\n  wrong_password: try again later please\n"],
    ['{"type": "password", "autocomplete": "current-password"}'],
    // References to where it is kept.
    ["  password: db-credentials\n  passwordKey: admin-password\n"],
    ["DB_PASSWORD=file:/run/secrets/db\n"],
    ["SESSION_SECRET=session-secret\n"],
    ["existingSecret: redis-auth\nsecret: web-tls\n"],
    // What every example has.
    ["password: 123456\nPASSWORD=password\npassword = admin\n"],
    ["PASSWORD=12345678\n"],
    ["PIN=111222\nROOT_PASSWORD=aabbaabb\n"],
    // A step of a compiler or a test, and words that begin a sentence.
    ["pass = lowering\nnext = codegen\n"],
    ['{"name": "inline", "pass": "early-cleanup"}'],
    ["password: three random words\nsecret: our own recipe book\n"],
    ['"keys": {"www.example.com": "see-the-other-page"}'],
    // Sentences and manuals.
    ["use --password instead of the file\n"],
    ["  --password string   password of the registry\n"],
    ["pass -p to keep it; mysql -u root -p shop"],
    ["the pin is connected, salt: yes, seed: 42"],
    ["pin: 13, salt: 16, seed: 123456789"],
    ["SALT_LENGTH = 16\nseed = 20240101\npin = 7\n"],
    ["const salt = await bcrypt.genSalt(10)"],
    ["Password authentication failed\nPIN: required\n"],
  ])("%j", (text) => {
    expect(filterText(text, FILTERED)).toBe(text)
    expect(inRecord(text)).toBe(text)
  })
})
