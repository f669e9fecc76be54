/** Private keys of every kind, and what prints them: each line of a key with something around it. */
import type { Noise } from "./planted.ts"

export interface PlantedKey {
  /** As in its file, without a line break at the end. */
  readonly lines: readonly string[]
  /** The lines that must not stay. */
  readonly secret: readonly string[]
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
const base64 = (noise: Noise, length: number): string => noise.of(BASE64, length)

/** In pieces, so that nobody takes this file for a leak. */
const pem = (type: string, body: readonly string[], headers: readonly string[] = []): PlantedKey => {
  const mark = (word: string): string => `-----${word} ${type}-----`
  return {
    lines: [mark("BEGIN"), ...headers, ...body, mark("END")],
    secret: body.filter((line) => !line.startsWith("=")),
  }
}

const body = (noise: Noise, width: number, count: number, last: string): string[] => [
  ...Array.from({ length: count }, () => base64(noise, width)),
  ...(last === "" ? [] : [last]),
]

export const KEY_KINDS: readonly (readonly [name: string, make: (noise: Noise) => PlantedKey])[] = [
  ["RSA", (n) => pem("RSA PRIVATE KEY", body(n, 64, 25, `${base64(n, 30)}==`))],
  ["EC", (n) => pem("EC PRIVATE KEY", body(n, 64, 2, `${base64(n, 35)}=`))],
  ["PKCS #8", (n) => pem("PRIVATE KEY", body(n, 64, 10, base64(n, 8)))],
  ["PKCS #8 of a curve", (n) => pem("PRIVATE KEY", [`${base64(n, 63)}=`])],
  ["PKCS #8 on one line", (n) => pem("PRIVATE KEY", [`${base64(n, 1623)}=`])],
  ["encrypted", (n) => pem("ENCRYPTED PRIVATE KEY", body(n, 64, 12, `${base64(n, 14)}==`))],
  [
    "encrypted, with headers",
    (n) =>
      pem("RSA PRIVATE KEY", body(n, 64, 12, ""), [
        "Proc-Type: 4,ENCRYPTED",
        "DEK-Info: AES-256-CBC,1F0A9B77C3D24E5586A7B8C9D0E1F203",
        "",
      ]),
  ],
  [
    "OpenSSH",
    (n) =>
      pem("OPENSSH PRIVATE KEY", [
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
        ...body(n, 70, 4, `${base64(n, 30)}=`),
      ]),
  ],
  [
    "PGP",
    (n) =>
      pem(
        "PGP PRIVATE KEY BLOCK",
        [...body(n, 64, 14, `${base64(n, 22)}==`), `=${base64(n, 4)}`],
        ["Version: GnuPG v2", ""],
      ),
  ],
  [
    "PuTTY",
    (n) => {
      const secret = body(n, 64, 5, `${base64(n, 26)}==`)
      return {
        lines: ["Private-Lines: 6", ...secret, "Private-MAC: 5ad0c7e1b2f3a4958677"],
        secret,
      }
    },
  ],
]

/** What may stand for a character of base64. */
const CODED: readonly (readonly [RegExp, string])[] = [
  [/\\+\/|%2F/gi, "/"],
  [/\\+u002b|%2B|&#43;|&#x2B;/gi, "+"],
  [/\\+u003d|%3D|&#x3D;|&#61;|=3D/gi, "="],
]

/** The lines of which twelve characters are still there to read. */
export function leftOf(text: string, secret: readonly string[]): string[] {
  const plain = CODED.reduce((one, [coded, character]) => one.replace(coded, character), text)
  return secret.filter((line) => {
    const length = Math.min(12, line.length)
    for (let at = 0; at + length <= line.length; at++)
      if (plain.includes(line.slice(at, at + length))) return true
    return false
  })
}

type Wrap = (lines: readonly string[]) => string

const each =
  (write: (line: string, n: number) => string, between = "\n"): Wrap =>
  (lines) =>
    lines.map(write).join(between)
const after = (prefix: string): Wrap => each((line) => prefix + line)
const at = (n: number): string => new Date(Date.UTC(2026, 2, 4, 9, 30, n, n * 7)).toISOString()
const hash = (n: number): string => (0x9a3f51c7 + n * 0x1234567).toString(16).slice(-8)

const LABELS = {
  stream: "stderr",
  kubernetes: {
    pod_name: "shop-7d9c4b6f58-x2k9z",
    namespace_name: "harbour",
    container_image: "registry.example/shop:2.11.4",
    labels: { app: "shop", "pod-template-hash": "7d9c4b6f58", "helm.sh/chart": "shop-2.11.4" },
    annotations: { "prometheus.io/scrape": "true", "checksum/config": "9a3f51c7e2b14d60".repeat(4) },
    host: "ip-10-11-12-13.eu-west-1.compute.internal",
  },
}

/** What prints a key, or how code and data write it. */
export const WRAPPINGS: readonly (readonly [name: string, wrap: Wrap])[] = [
  ["a file", each((line) => line)],
  ["carriage returns", each((line) => line, "\r\n")],
  ["an added file in a diff", after("+")],
  ["a removed file in a diff", after("-")],
  ["context of a diff", after(" ")],
  ["changes in a diff", each((line, n) => "+- "[n % 3] + line)],
  ["a merge's diff", after("++")],
  ["cat -n", each((line, n) => `${String(n + 1).padStart(6)}\t${line}`)],
  ["cat -A", each((line) => `${line}$`)],
  ["nl", each((line, n) => `${String(n + 1).padStart(6)}  ${line}`)],
  ["Claude Code's numbers", each((line, n) => `${String(n + 1).padStart(5)}→${line}`)],
  ["grep -n", each((line, n) => `${n + 1}:${line}`)],
  ["grep -rn", each((line, n) => `deploy/Certs2/site.pem:${n + 1}:${line}`)],
  ["grep -A", each((line, n) => `site.pem${n === 0 ? ":1:" : `-${n + 1}-`}${line}`)],
  ["git grep", after("main:deploy/site.pem:")],
  ["git blame", each((line, n) => `${hash(n)} (Ada Quill 2026-03-04 10:00:00 +0100 ${n + 1}) ${line}`)],
  [
    "git blame of a file that moved",
    each((line, n) => `^${hash(n)} deploy/certs/site.pem (<ada@quill.example> 2026-03-04 ${n + 1}) ${line}`),
  ],
  ["docker compose logs", after("shop-1      | ")],
  ["docker compose logs with colours", after("\u001b[36mshop-1  | \u001b[0m")],
  [
    "docker compose logs of two services",
    each((line, n) => `shop-1 | ${line}\ncart-1 | GET /items/${n} 200`),
  ],
  ["kubectl logs", after("[pod/shop-7d9c4b6f58-x2k9z/web] ")],
  ["kubectl logs with times", each((line, n) => `${at(n)} ${line}`)],
  ["journalctl", each((line, n) => `Mar 04 09:30:${String(n).padStart(2, "0")} harbour shop[4711]: ${line}`)],
  ["syslog", each((line, n) => `<14>1 ${at(n)} harbour shop 4711 ID${n} - ${line}`)],
  ["a log's level", each((line, n) => `[${at(n)}] INFO  com.example.Boot2Main - ${line}`)],
  [
    "log lines of JSON",
    each((line, n) => JSON.stringify({ log: `${line}\n`, stream: "stdout", time: at(n) })),
  ],
  ["journalctl -o json", each((line, n) => JSON.stringify({ PRIORITY: "6", _PID: `${n}`, MESSAGE: line }))],
  ["a shell's comment", after("# ")],
  ["a comment without a blank", after("#")],
  ["a comment of C++", after("// ")],
  ["a comment of C++ without a blank", after("//")],
  ["a comment of C", (lines) => `/*\n${after(" * ")(lines)}\n */`],
  ["a comment of SQL", after("-- ")],
  ["a comment of Lisp", after(";; ")],
  ["a comment of HTML", (lines) => `<!--\n${lines.join("\n")}\n-->`],
  ["a quotation in mail", after("> ")],
  ["a quotation within a quotation", after("> > ")],
  ["YAML", (lines) => `tls.pem: |\n${after("    ")(lines)}\nnext: 1`],
  ["tabs", after("\t\t")],
  ["a list in Markdown", after("- ")],
  ["code in Markdown", each((line) => `\`${line}\``)],
  ["a table", each((line, n) => `| ${n} | ${line.padEnd(70)} | ok |`)],
  ["a box", each((line) => `│ ${line.padEnd(72)} │`)],
  ["colours", each((line) => `\u001b[32m${line}\u001b[0m`)],
  ["colours with letters for the escape", each((line) => `\\x1b[32m${line}\\033[0m`)],
  [
    "what grep --color marks",
    each(
      (line, n) =>
        `\u001b[35mk.pem\u001b[m\u001b[K:${n}:${line.replace("PRIVATE", "\u001b[01;31m\u001b[KPRIVATE\u001b[m\u001b[K")}`,
    ),
  ],
  ["words of colours", each((line) => `\u001b[1;33m${line}\u001b[39;49m\u001b[K`)],
  ["an array", (lines) => JSON.stringify(lines)],
  ["an array over lines", (lines) => JSON.stringify(lines, null, 2)],
  ["an array within an array", (lines) => JSON.stringify({ a: [{ lines: lines.map((one) => `+${one}`) }] })],
  ["an array in a string", (lines) => JSON.stringify(JSON.stringify(lines))],
  ["an array in a string in a string", (lines) => JSON.stringify(JSON.stringify(JSON.stringify({ lines })))],
  ["a string", (lines) => JSON.stringify({ pem: lines.join("\n") })],
  ["a string in a string", (lines) => JSON.stringify(JSON.stringify({ pem: lines.join("\r\n") }))],
  [
    "a string in a string in a string",
    (lines) => JSON.stringify(JSON.stringify(JSON.stringify({ pem: lines.join("\n") }))),
  ],
  ["a string of PHP", (lines) => JSON.stringify(lines.join("\n")).replaceAll("/", "\\/")],
  ["escapes with numbers", each((line) => line, "\\u000a")],
  [
    "escapes with numbers everywhere",
    each((line) => line.replaceAll("+", "\\u002b").replaceAll("=", "\\u003d"), "\\u000A"),
  ],
  ["escapes of C", each((line) => line, "\\x0a")],
  ["octal escapes", each((line) => line, "\\012")],
  ["strings that stand side by side", each((line) => `    '${line}\\n'`)],
  ["strings that are joined", each((line) => `  "${line}\\n"`, " +\n")],
  ["strings that are joined with a stop", each((line) => `  '${line}'`, " .\n")],
  ["strings and numbers of lines", each((line, n) => `${n}: "${line}\\n" \\`)],
  ["a list in Python", (lines) => `[\n${each((line) => `    '${line}',`)(lines)}\n]`],
  ["calls of a printer", each((line) => `  println!("${line}");`)],
  ["echo", each((line) => `echo "${line}" >> k.pem`)],
  ["continued lines", each((line) => line, "\\\n")],
  ["continued strings", each((line) => `${line}\\n\\`)],
  ["shell quotes", (lines) => `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")} > k.pem`],
  ["a variable on one line", (lines) => `PEM="${lines.join("\\n")}"`],
  ["blanks instead of breaks", each((line) => line, " ")],
  ["no breaks", (lines) => lines.join("")],
  ["strings of SQL", each((line) => `'${line}'`, " || chr(10) ||\n  ")],
  ["strings of Visual Basic", each((line) => `"${line}"`, " & vbCrLf & _\n")],
  ["strings of PowerShell", each((line) => line, "`n")],
  [
    "Terraform's plan",
    (lines) => `      + private_key_pem = <<-EOT\n${after("            ")(lines)}\n        EOT`,
  ],
  [
    "Ansible's output",
    (lines) => `ok: [harbour] => ${JSON.stringify({ changed: false, stdout_lines: lines })}`,
  ],
  ["two columns", each((line) => `${line.padEnd(72)} | ${line}`)],
  ["two columns of which one is new", each((line, n) => `${"".padEnd(40)} ${n === 0 ? ">" : "|"} ${line}`)],
  ["lines with much about them", each((line, n) => JSON.stringify({ ...LABELS, log: line, n }))],
  ["git diff --color", each((line) => `\u001b[32m+\u001b[m\u001b[32m${line}\u001b[m`)],
  [
    "what a search marks within a line",
    each((line) => line.replace(/(?<=^[^-]{9})([^-]{5})/, "\u001b[7m$1\u001b[27m")),
  ],
  ["a documenting comment", after("/// ")],
  ["a documenting comment without a blank", after("///")],
  ["bold", each((line) => `**${line}**`)],
  ["emphasis", each((line) => `*${line}*`)],
  ["an array in HTML", (lines) => JSON.stringify(lines).replaceAll('"', "&quot;")],
  ["logfmt", each((line, n) => `ts=${at(n)} level=info msg="${line}" caller=Boot2.go:${n}`)],
  ["a printed byte string", (lines) => `b'${lines.join("\\n")}\\n'`],
  ["an address in an address", (lines) => encodeURIComponent(`k=${encodeURIComponent(lines.join("\n"))}`)],
  [
    "a quoted script in a string",
    (lines) => JSON.stringify({ run: `echo '${lines.join("\n")}' | ssh-add -` }),
  ],
  ["<br>", each((line) => line, "<br>")],
  ["<br/> and a break", each((line) => line, "<br />\n")],
  ["<br>, escaped", each((line) => line, "&lt;br&gt;")],
  ["elements of HTML", each((line) => `<span class="line">${line}</span>`)],
  [
    "rows of HTML",
    each((line, n) => `<tr><td id="L${n}" data-line-number="${n}"></td><td>${line}</td></tr>`),
  ],
  ["&#10;", each((line) => line, "&#10;")],
  ["&#xA;", each((line) => line, "&#xA;")],
  ["&#13;&#10;", each((line) => line, "&#13;&#10;")],
  ["XML of everything", each((line) => line.replaceAll("+", "&#43;").replaceAll("=", "&#x3D;"), "&#x0a;")],
  ["an address", (lines) => encodeURIComponent(lines.join("\n"))],
  ["a form", (lines) => `k=${encodeURIComponent(lines.join("\r\n")).replaceAll("%20", "+")}&a=1`],
  ["%0A alone", each((line) => line, "%0A")],
  ["quoted-printable", each((line) => line.replaceAll("=", "=3D"))],
  ["a narrow window", each((line) => line.match(/.{1,40}/g)?.join("\n") ?? "")],
  [
    "a narrower window",
    (lines) =>
      [
        lines[0],
        ...lines.slice(1, -1).map((one) => one.match(/.{1,50}/g)?.join("\n") ?? ""),
        lines.at(-1),
      ].join("\n"),
  ],
  ["lines apart", each((line) => line, "\n\n")],
  ["a script's input", (lines) => `cat > k.pem <<'EOF'\n${lines.join("\n")}\nEOF\nchmod 600 k.pem`],
  ["base64 of it", (lines) => Buffer.from(lines.join("\n")).toString("base64")],
]
