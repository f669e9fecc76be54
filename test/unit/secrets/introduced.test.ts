import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { FILTERED, filterLines, filterText } from "../../../src/secrets/filter.ts"
import { Inside } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"
import { Noise } from "../../support/planted.ts"

/** Values that a manifest, an argument, an address or a sentence introduces, in every place of a transcript. */
describe("introduced", () => {
  const noise = new Noise(7)
  /** Twenty letters and digits behind a prefix of a known format. */
  const github = `ghp_${noise.alnum(36)}`
  const password = `${noise.alnum(4)}k7!${noise.alnum(5)}Q`
  const plain = `q4${noise.alnum(9)}Zx8`
  const word = "lanternmoss"
  const phrase = "orchid lantern brisk gravel mitten walnut"
  const coded = (text: string): string => Buffer.from(text).toString("base64")

  /** Words as a wallet's list has them, twelve or more of which restore it. */
  const SEED =
    "orchard velvet canyon timber lunar pencil magnet ribbon glacier hollow saddle wisdom copper meadow tunnel violin harbor jungle kitten lemon marble nectar oyster puzzle"
  const seed = (words: number): string => SEED.split(" ").slice(0, words).join(" ")

  /** What is written, and what of it must not stay. */
  type Row = readonly [name: string, text: string, ...secrets: string[]]

  const manifest = (...lines: string[]): string => ["apiVersion: v1", ...lines].join("\n")

  const MANIFESTS: readonly Row[] = [
    [
      "data",
      manifest("kind: Secret", "metadata:", "  name: shop", "type: Opaque", "data:", `  db: ${coded(plain)}`),
      coded(plain),
    ],
    [
      "several values, of words, and comments between",
      manifest(
        "kind: Secret",
        "metadata:",
        "  name: shop",
        "data:",
        `  username: ${coded("harbourmaster")}`,
        "  # the second",
        "",
        `  url: "${coded("amqp://shop/queue")}"`,
        `  LICENSE: '${coded(word)}'`,
      ),
      coded("harbourmaster"),
      coded("amqp://shop/queue"),
      coded(word),
    ],
    [
      "kind after data",
      manifest("data:", `  db: ${coded(plain)}`, `  user: ${coded("harbourmaster")}`, "kind: Secret"),
      coded(plain),
      coded("harbourmaster"),
    ],
    [
      "stringData",
      manifest("kind: Secret", "stringData:", `  endpoint: ${plain}`, `  note: "${word}"`),
      plain,
      word,
    ],
    [
      "a block",
      manifest(
        "kind: Secret",
        "stringData:",
        "  config.ini: |",
        "    [db]",
        `    line = ${plain}`,
        "type: Opaque",
      ),
      plain,
    ],
    [
      "with carriage returns, after other documents",
      `kind: Service\r\n---\r\nkind: Secret\r\ndata:\r\n  db: ${coded(plain)}\r\n`,
      coded(plain),
    ],
    ["a list", `items:\n- apiVersion: v1\n  data:\n    db: ${coded(plain)}\n  kind: Secret\n`, coded(plain)],
    [
      "JSON",
      JSON.stringify({ kind: "Secret", data: { db: coded(plain), user: coded("harbourmaster") } }),
      coded(plain),
      coded("harbourmaster"),
    ],
    [
      "JSON, indented",
      JSON.stringify({ apiVersion: "v1", data: { db: coded(plain) }, kind: "Secret" }, undefined, 2),
      coded(plain),
    ],
    [
      "JSON, stringData",
      JSON.stringify(
        { kind: "Secret", metadata: { name: "a" }, stringData: { endpoint: plain } },
        undefined,
        4,
      ),
      plain,
    ],
  ]

  const ARGUMENTS: readonly Row[] = [
    ["mysql", `["mysql","-uroot","-p${plain}"]`, plain],
    ["mysql with blanks", `args: ["mysqldump", "-h", "db", "-p${password}"]`, password],
    ["mariadb", `mariadb -u root -p${plain} shop`, plain],
    ["mariadb as a list", `["mariadb", "-p${plain}"]`, plain],
    ["sshpass", `["sshpass","-p","${password}","ssh","shop"]`, password],
    ["sshpass, one quote", `subprocess.run(['sshpass', '-p', '${password}', 'ssh', 'shop'])`, password],
    ["sshpass, joined", `["sshpass","-p${plain}","ssh","shop"]`, plain],
    ["docker login", `docker login -u bob -p ${plain} registry.example.com`, plain],
    ["docker login as a list", `["docker","login","-u","bob","-p","${plain}","registry.example.com"]`, plain],
    ["curl", `["curl","-s","-u","bob:${plain}","https://shop.example.com"]`, plain],
    ["curl --user", `["curl", "--user", "bob:${password}", "https://shop.example.com"]`, password],
    ["curl --user=", `curl --user=bob:${plain} https://shop.example.com`, plain],
    ["redis-cli", `["redis-cli","-h","cache","-a","${plain}"]`, plain],
    ["htpasswd", `["htpasswd","-bc","users","bob","${plain}"]`, plain],
    ["a later option", `["wget","-q","--password","${word}","https://shop.example.com"]`, word],
    ["gpg", `["gpg", "--batch", "--passphrase", "${word}", "-c", "a"]`, word],
    ["one below the other", `command:\n  - mysql\n  - -uroot\n  - -p${plain}\n`, plain],
    ["one below the other, quoted", `args:\n  - "redis-cli"\n  - "-a"\n  - "${plain}"\n`, plain],
    ["a call", `spawn("mysql", ["-u", "root", "-p${plain}"])`, plain],
    ["mongosh", `["mongosh","-u","root","-p","${plain}"]`, plain],
    ["an option", `["createuser","--password","${plain}"]`, plain],
    ["an option with =", `["createuser","--password=${plain}"]`, plain],
    ["ssh-keygen -N", `ssh-keygen -t ed25519 -N ${plain} -f key`, plain],
    ["ssh-keygen -N, quoted", `ssh-keygen -t ed25519 -f key -N "${phrase}"`, phrase],
    ["ssh-keygen -N, a word", `ssh-keygen -q -N '${word}' -f key`, word],
    ["ssh-keygen -P -N", `ssh-keygen -p -P "${password}" -N '${plain}' -f key`, password, plain],
    ["ssh-keygen as a list", `["ssh-keygen", "-t", "rsa", "-N", "${plain}"]`, plain],
    ["openssl enc -k", `openssl enc -aes-256-cbc -k ${plain} -in a -out b`, plain],
    ["openssl enc -k, a word", `openssl enc -d -aes-256-cbc -pbkdf2 -in a -k '${word}'`, word],
    ["openssl aes-256-cbc -k", `openssl aes-256-cbc -a -salt -k ${plain} -in a`, plain],
    [
      "openssl -K",
      `openssl enc -aes-128-cbc -K 5f4dcc3b5aa765d61d8327deb882cf99 -iv 00`,
      "5f4dcc3b5aa765d61d8327deb882cf99",
    ],
    ["openssl -pass", `openssl enc -aes-256-cbc -pass pass:${plain} -in a`, plain],
    [
      "openssl -passin -passout",
      `openssl rsa -passin pass:${word} -passout "pass:${password}" -in a`,
      word,
      password,
    ],
    ["openssl as a list", `["openssl","enc","-k","${plain}"]`, plain],
    ["openssl -pass as a list", `["openssl","rsa","-passin","pass:${word}","-in","a"]`, word],
    [
      "kubectl",
      `kubectl create secret generic shop --from-literal=endpoint=${plain} --from-literal=b='${word}'`,
      plain,
      word,
    ],
    [
      "kubectl, two words",
      `kubectl -n shop create secret generic shop --from-literal endpoint=${plain}`,
      plain,
    ],
    [
      "kubectl as a list",
      `["kubectl","create","secret","generic","shop","--from-literal=a=${plain}"]`,
      plain,
    ],
    [
      "kubectl docker-registry",
      `kubectl create secret docker-registry r --docker-username=bob --docker-password=${plain}`,
      plain,
    ],
  ]

  const OBJECTS: readonly Row[] = [
    ["value", `{"password":{"value":"${plain}"}}`, plain],
    ["type and value", `{"password":{"type":"string","value":"${password}"}}`, password],
    ["a word", `{"adminPassword": {"type": "securestring", "value": "${word}"}}`, word],
    [
      "indented",
      JSON.stringify({ db_password: { sensitive: true, type: "string", value: plain } }, undefined, 2),
      plain,
    ],
    ["default", `{"password":{"description":"of the shop","default":"${plain}"}}`, plain],
    [
      "a container's list",
      `{"env":[{"name":"DB_PASSWORD","value":"${plain}"},{"name":"PORT","value":"8080"}]}`,
      plain,
    ],
    [
      "a container's list, indented",
      JSON.stringify([{ name: "API_TOKEN", value: plain + plain }], undefined, 2),
      plain + plain,
    ],
    ["value first", `{"value":"${plain}","name":"DB_PASSWORD"}`, plain],
    [
      "value first, indented",
      JSON.stringify([{ value: password, name: "DB_PASSWORD" }], undefined, 2),
      password,
    ],
    ["YAML", `env:\n  - name: DB_PASSWORD\n    value: "${plain}"\n`, plain],
    ["YAML, nested", `password:\n  type: string\n  value: ${plain}\n`, plain],
  ]

  const NETWORKS: readonly Row[] = [
    ["usual", `WIFI:S:harbour;T:WPA;P:${plain};;`, plain],
    ["password first", `WIFI:P:${plain};T:WPA;S:harbour;;`, plain],
    ["a word, hidden", `WIFI:T:WPA;S:harbour;P:${word};H:true;;`, word],
    ["quoted", `WIFI:T:WPA2;S:"harbour";P:"${plain}";;`, plain],
    ["escaped", `WIFI:T:WPA;S:a\\;b;P:k9\\;${plain};;`, plain],
    ["digits", "WIFI:S:harbour;T:WPA;P:83920174;;", "83920174"],
    ["words", `qrencode 'WIFI:T:WPA;S:harbour;P:${phrase};;'`, phrase],
    ["small letters", `wifi:T:WPA;S:harbour;P:${plain};;`, plain],
  ]

  const PHRASES: readonly Row[] = [
    ["double", `passphrase: "${phrase}"`, phrase],
    [
      "a sentence",
      'passphrase: "eight boats that nobody counts twice"',
      "eight boats that nobody counts twice",
    ],
    [
      "a variable",
      "export CTXBRIDGE_SYNC_PASSPHRASE='seven hats that my uncle wears'",
      "seven hats that my uncle wears",
    ],
    ["a variable, double", 'RESTIC_PASSWORD="The old mill turns at night"', "The old mill turns at night"],
    [
      "a prompt",
      'the passphrase is "eight boats that nobody counts twice"',
      "eight boats that nobody counts twice",
    ],
    [
      "a prompt, code",
      "our passphrase is `eight boats that nobody counts twice`, keep it",
      "eight boats that nobody counts twice",
    ],
    [
      "a prompt, single",
      "my pass phrase is 'eight boats that nobody counts twice'.",
      "eight boats that nobody counts twice",
    ],
    ["bare", `the passphrase is ${phrase}\n`, phrase],
    ["an option", "gpg --passphrase 'eight boats that nobody counts' -c a", "eight boats that nobody counts"],
    ["of JSON", '{"passphrase":"eight boats that nobody counts"}', "eight boats that nobody counts"],
    ["of TOML", 'passphrase = "eight boats that nobody counts"', "eight boats that nobody counts"],
  ]

  const SEEDS: readonly Row[] = [12, 15, 18, 21, 24].flatMap((words): Row[] => [
    [`${words}, quoted`, `mnemonic: "${seed(words)}"`, seed(words)],
    [`${words}, bare`, `My seed phrase is ${seed(words)}`, seed(words)],
    [`${words}, on the next line`, `Recovery phrase:\n\n${seed(words)}\n\nkeep it`, seed(words)],
    [`${words}, a seed`, `wallet seed: ${seed(words)}`, seed(words)],
    [`${words}, its standard`, `BIP39 words: ${seed(words)}`, seed(words)],
    [`${words}, counted`, `my ${words}-word phrase: ${seed(words)}`, seed(words)],
    [
      `${words}, commas`,
      `seed words: ${seed(words).replaceAll(" ", ", ")}`,
      seed(words).split(" ").slice(0, 2).join(", "),
    ],
    [`${words}, a variable`, `WALLET_MNEMONIC='${seed(words)}'`, seed(words)],
    [`${words}, an option`, `cast wallet import shop --mnemonic "${seed(words)}"`, seed(words)],
    [`${words}, JSON`, `{"seed_phrase":"${seed(words)}"}`, seed(words)],
    [
      `${words}, an array`,
      `const mnemonic = ${JSON.stringify(seed(words).split(" "))}`,
      ...seed(words)
        .split(" ")
        .slice(0, 12)
        .map((one) => `"${one}"`),
    ],
    [
      `${words}, numbered`,
      `seed words:\n${seed(words)
        .split(" ")
        .map((one, n) => `${n + 1}. ${one}`)
        .join("\n")}\n`,
      ...seed(words)
        .split(" ")
        .map((one) => `. ${one}\n`)
        .slice(0, words - 1),
    ],
  ])

  const TOKENS: readonly Row[] = [
    ["a path", `cat /var/run/${github}/config`, github],
    ["a URL", `https://api.example.com/v1/${github}/repos`, github],
    ["%2F", `https://example.com/?next=a%2F${github}%2Fb`, github],
    ["%2f", `a%2f${github}`, github],
    ["%3D", `token%3D${github}`, github],
    ["+", `q=search+${github}+now`, github],
    ["a branch", `git checkout -b feature/${github}`, github],
    ["a branch, -", `git push origin fix-${github}`, github],
    ["a branch, _", `git switch fix_${github}`, github],
    ["a file", `backup_${github}.txt`, github],
    ["dots", `v1.${github}`, github],
    ["AWS, /", "feature/AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, a commit", "3f9a0b1c/AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, a name", "shopWindow+AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, a ticket", "feature/SHOP-123/AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, _", "key_AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, -", "fix-AKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, %2F", "dir%2FAKIAQ7RZT4MXLB2KDV9P", "AKIAQ7RZT4MXLB2KDV9P"],
    ["AWS, +", "a+AKIAQ7RZT4MXLB2KDV9P+b", "AKIAQ7RZT4MXLB2KDV9P"],
    ...["/", "%2F", "+", "_", "-", "."].flatMap((mark): Row[] => {
      const google = `AIza${noise.alnum(35)}`
      const slack = `xoxb-${noise.of("123456789", 12)}-${noise.of("123456789", 12)}-${noise.alnum(24)}`
      const gitlab = `glpat-${noise.alnum(20)}`
      const stripe = `sk_live_${noise.alnum(24)}`
      const jwt = `eyJ${noise.alnum(33)}.eyJ${noise.alnum(40)}.${noise.alnum(43)}`
      return [
        [`Google, ${mark}`, `feature${mark}${google}`, google],
        [`Slack, ${mark}`, `feature${mark}${slack}`, slack],
        [`GitLab, ${mark}`, `feature${mark}${gitlab}`, gitlab],
        [`Stripe, ${mark}`, `feature${mark}${stripe}`, stripe],
        [`JWT, ${mark}`, `feature${mark}${jwt}`, jwt],
      ]
    }),
  ]

  /** What resembles these and is no secret. */
  const HARMLESS: readonly string[] = [
    // manifests
    "kind: ConfigMap\ndata:\n  db: c2hvcC1kYXRhYmFzZQ==\n  LEVEL: debug",
    "kind: SecretStore\ndata:\n  region: eu-west-1",
    "kind: Secret\nmetadata:\n  name: shop\n  namespace: harbour\ntype: kubernetes.io/tls",
    `kind: Secret\ndata:\n  db: {{ .Values.db | b64enc }}\n  user: \${USER_CODED}\n`,
    "kind: Secret\n---\nkind: ConfigMap\ndata:\n  LEVEL: bGFudGVybg==",
    '{"kind":"ConfigMap","data":{"level":"bGFudGVybg=="}}',
    '[{"kind":"Secret","metadata":{"name":"a"}},{"kind":"ConfigMap","data":{"level":"bGFudGVybg=="}}]',
    "The kind: Secret is described below. Its data: one line for each key.",
    "type Kind = 'Secret'\nconst kind: Secret = { data: harbour }",
    // arguments
    '["mysql","-uroot","-h","db","shop"]',
    '["mysql","-P","3306","--protocol","tcp"]',
    '["docker","run","-p","8080:80","--user","1000:1000"]',
    '["curl","-s","-o","out.json","https://shop.example.com"]',
    'curl -u "$SHOP_USER:$SHOP_PASSWORD" https://shop.example.com',
    '["redis-cli","-h","cache","-p","6379","ping"]',
    '["sshpass","-e","ssh","shop"]',
    '["sshpass","-f","/run/secrets/shop","ssh","shop"]',
    'ssh-keygen -t ed25519 -N "" -f key',
    "ssh-keygen -t ed25519 -C bob@shop -f ~/.ssh/id_shop",
    "ssh-keygen [-q] [-a rounds] [-N new_passphrase] [-P old_passphrase]",
    "ssh-keygen -R shop.example.com",
    "openssl req -x509 -newkey rsa:2048 -keyout key.pem -out cert.pem -days 365",
    "openssl enc -aes-256-cbc -pass file:/run/secrets/shop -in a",
    "openssl rsa -passin env:SHOP_PASS -in key.pem",
    "openssl dgst -sha256 -sign key.pem a.txt",
    'openssl enc -k "$SHOP_PASS" -in a',
    "kubectl create configmap shop --from-literal=endpoint=harbour7 --from-literal=level=debug",
    "kubectl create secret generic shop --from-literal=endpoint=$ENDPOINT",
    // objects
    '{"password":{"type":"string","description":"of the shop"}}',
    '{"password":{"type":"string","minLength":8}}',
    '{"password":{"value":""}}',
    '{"password":{"$ref":"#/definitions/text"}}',
    '{"key":{"value":"harbour"}}',
    '[{"name":"LOG_LEVEL","value":"debug7x"},{"name":"PORT","value":"8080"}]',
    '{"value":"harbour7x","name":"LOG_LEVEL"}',
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: shop\n      key: db\n",
    'program.option("--password", "harbour lights")',
    'parser.add_argument("--token", "harbour", help="of the shop")',
    '["-p", "--password", "--token"]',
    // networks
    "WIFI:T:nopass;S:harbour;;",
    "wifi: connected, P: 7 dBm",
    // phrases
    'passphrase: "Enter your passphrase"',
    'passphrase: "The passphrase that protects the key"',
    'the passphrase is "not set", it says',
    'password: "Must have twelve letters"',
    'password: "Forgotten it? Ask for a new one"',
    "the passphrase is asked for when the program starts",
    'label("Passphrase"), hint("Six words or more are best")',
    'error: "pass phrase is too short for this file"',
    // wallets
    "A mnemonic is a list of words that are easy to write down and that restore a wallet.",
    "The seed phrase should be kept in a safe place, and never be shown to other people.",
    "mnemonics: mov add sub mul div push pop call ret jump load store test shift",
    "const mnemonic = generateMnemonic(wordlist, 128)",
    'mnemonic: "test test test test test test test test test test test junk"',
    "recovery phrase: twelve words",
    "seed: 42, words: the first of them begins with a capital",
    "seed = orchard velvet canyon",
    // tokens
    "sha512-q7Zx+AKIAQ7RZT4MXLB2KDV9P/w9Kd3mBz7Lq2",
    "feature/AKIA-rotation",
    "feature/ghp_rotation",
    // examples
    "See [`Shop.password`](/docs/runtime/hashing2#shop-password) for more.",
    "| [`token`](https://shop.example.com/t7/x91kq2) | what it is |",
    'const password = "super-secure-pa$$word"',
    "postgres://postgres:postgres@localhost:5432/shop",
    "mysql://root:root@localhost/shop",
  ]

  /** What resembles examples and is none. */
  const REAL: readonly Row[] = [
    ["a common one", 'const password = "P@ssw0rd!9x"', "P@ssw0rd!9x"],
    ["words with a number", 'password: "super-secure-4417"', "super-secure-4417"],
    ["the same as the user", "postgres://lanternmoss:lanternmoss@db/shop", ":lanternmoss"],
    ["another than the user", "postgres://postgres:moss7lantern@db/shop", "moss7lantern"],
  ]

  const KINDS: Readonly<Record<string, readonly Row[]>> = {
    manifests: MANIFESTS,
    arguments: ARGUMENTS,
    objects: OBJECTS,
    networks: NETWORKS,
    phrases: PHRASES,
    "seed phrases": SEEDS,
    tokens: TOKENS,
    "what resembles examples": REAL,
  }

  /** Lines of a transcript around a text, and the text as they hold it afterwards. */
  const PLACES: Readonly<Record<string, (text: string) => string>> = {
    "a file": (text) => filterText(text, FILTERED),
    "a prompt": (text) => through({ type: "user", message: { content: text } }).message.content,
    "a command": (text) =>
      through({
        type: "assistant",
        message: { content: [{ type: "tool_use", name: "Bash", input: { command: text } }] },
      }).message.content[0].input.command,
    "a result": (text) =>
      through({ type: "user", message: { content: [{ type: "tool_result", content: text }] } }).message
        .content[0].content,
    "a string in a result": (text) =>
      JSON.parse(
        through({ type: "user", toolUseResult: { stdout: JSON.stringify({ text }) } }).toolUseResult.stdout,
      ).text,
    "a patch": (text) =>
      through({
        type: "user",
        toolUseResult: { structuredPatch: [{ lines: text.split("\n").map((line) => `+${line}`) }] },
      })
        .toolUseResult.structuredPatch[0].lines.map((line: string) => line.slice(1))
        .join("\n"),
    "a diff": (text) => undone(text, (line) => `+${line}`, /^\+/gm),
    "a numbered file": (text) =>
      undone(text, (line, n) => `${String(n + 1).padStart(6)}→${line}`, /^ *\d+→/gm),
  }

  function undone(text: string, write: (line: string, n: number) => string, before: RegExp): string {
    const written = text.split("\n").map(write).join("\n")
    return through({ type: "user", toolUseResult: { stdout: written } }).toolUseResult.stdout.replaceAll(
      before,
      "",
    )
  }

  // biome-ignore lint/suspicious/noExplicitAny: a record of any form
  function through(record: unknown): any {
    const line = Buffer.from(`${JSON.stringify(record)}\n`)
    const { content } = filterLines(line, 0, FILTERED)
    expect(content.length).toBe(line.length)
    return JSON.parse(Buffer.from(content).toString())
  }

  for (const [kind, rows] of Object.entries(KINDS)) {
    describe(kind, () => {
      for (const [place, filtered] of Object.entries(PLACES)) {
        test(`in ${place}`, () => {
          const left = rows.flatMap(([name, text, ...secrets]) => {
            const after = filtered(text)
            const kept = secrets.filter((one) => after.includes(one))
            return kept.length === 0 ? [] : [`${name}: ${JSON.stringify(after)}`]
          })
          expect(left).toEqual([])
        })
      }
    })
  }

  describe("what is no secret stays", () => {
    for (const [place, filtered] of Object.entries(PLACES)) {
      test(`in ${place}`, () => {
        expect(HARMLESS.filter((text) => filtered(text) !== text)).toEqual([])
      })
    }
  })
})

/** Passwords, as people write them in settings and prompts. */
describe("passwords", () => {
  const SECRETS = [
    ["DB_PASS=hunter2x!y", "DB_PASS=**********"],
    ["export SMTP_PASS='s3cr3t!pw' && run", "export SMTP_PASS='*********' && run"],
    ['auth: { user: "bob", pass: "s3cr3t!pw" }', 'auth: { user: "bob", pass: "*********" }'],
    ["user: bob\npass: 's3cr3t!pw'\n", "user: bob\npass: '*********'\n"],
    ["DB_PASSWORD=Summer2024!", "DB_PASSWORD=***********"],
    ["sshpass -p Summer2024! ssh shop", "sshpass -p *********** ssh shop"],
    ['{"name": "DB_PASS", "value": "s3cr3t!pw"}', '{"name": "DB_PASS", "value": "*********"}'],
  ]

  const HARMLESS = [
    "Wrong password: denied!",
    "First pass: 12345ms",
    'pass: "succeeded"',
    "pass: src/step1.test.ts",
    '["pass","step_12a"]',
    "DB_PASS=$(vault read db1)",
    "BYPASS=cache-v12",
    "compass: 'n0rth-east'",
  ]

  /**
   * The filter knew `DB_PASSWORD=…` and `password: "…"`, but not the shorter `DB_PASS=…` and `pass: "…"`, which stand in as
   * many files of settings. And it took a password without quotation marks that ends in `!` for a sentence.
   */
  test("values of `pass` are filled, and the word stays a word", async () => {
    using machine = new Inside()
    const session = machine.session()
    for (const text of [...SECRETS.map(([text]) => text!), ...HARMLESS]) session.turn(text)
    expect(await machine.hook("stop", session.flush())).toMatchObject({ code: 0, stdout: "", stderr: "" })
    const prompts = contentOf(machine.copy(session.path))
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === "user")
      .map(({ message }) => message.content)
    expect(prompts).toEqual([...SECRETS.map(([, kept]) => kept!), ...HARMLESS])
  })

  /**
   * A quick look tells whether a prompt can hold a secret at all. It looked for a long word or an operator, and so the
   * password in `sshpass -p …` or `--password …` reached the state of the session.
   */
  describe("a password in a short prompt is not kept", () => {
    test.each([
      ["run sshpass -p hunter2x ssh box", "run sshpass -p ******** ssh box"],
      ["mysql --password s3cret99 now", "mysql --password ******** now"],
      ["gpg --passphrase Tr0ub4dor", "gpg --passphrase *********"],
      ["send Bearer abc1.def2.ghi3.jkl4 along", "send Bearer ******************* along"],
    ])("%s", async (prompt, kept) => {
      using machine = new Inside()
      const session = machine.session().turn("before it").flush()
      expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject({
        code: 0,
        stderr: "",
      })
      const file = join(machine.dataHome, "sessions", `${session.session}.json`)
      expect(JSON.parse(readFileSync(file, "utf8")).prompt).toBe(kept)
    })
  })
})
