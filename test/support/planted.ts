/** Secrets of every known kind, none of them real. Built from parts, so that no scanner takes this file for a leak. */
import { Dice } from "../../src/cli/bench/seeded-random.ts"

const LOWER = "abcdefghijklmnopqrstuvwxyz"
const DIGITS = "0123456789"
const HEX = `${DIGITS}abcdef`
const ALNUM = `${LOWER}${LOWER.toUpperCase()}${DIGITS}`
const URLSAFE = `${ALNUM}_-`
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** Random text, always the same for a seed. */
export class Noise {
  readonly #dice: Dice

  constructor(seed: number) {
    this.#dice = new Dice(seed)
  }

  of(alphabet: string, length: number): string {
    let text = ""
    for (let n = 0; n < length; n++) text += alphabet[Math.floor(this.#dice.unit() * alphabet.length)]
    return text
  }

  hex = (length: number): string => this.of(HEX, length)
  // Begins with a digit, which no name does.
  alnum = (length: number): string => `7${this.of(ALNUM, length - 1)}`
  url = (length: number): string => `7${this.of(URLSAFE, length - 2)}4`
  uuid = (): string => [8, 4, 4, 4, 12].map((length) => this.of(HEX, length)).join("-")
}

export interface Kind {
  readonly name: string
  /** The secret alone, which must not be found anywhere. */
  secret(noise: Noise): string
  /** Text around it that identifies it; `@` stands for the secret. */
  readonly in?: string
  /** Looks like such a secret, but is not one. */
  readonly harmless: string
}

const kind = (name: string, secret: (noise: Noise) => string, harmless: string, within = "@"): Kind => ({
  name,
  secret,
  harmless,
  in: within,
})

/** One for each word or prefix that the rules know. */
export const TOKENS: readonly Kind[] = [
  kind("AWS access key", (n) => `AK${"IA"}${n.of(BASE32, 16)}`, "AKIA is what they begin with"),
  kind("AWS temporary key", (n) => `AS${"IA"}${n.of(BASE32, 16)}`, "ASIAN food and so on"),
  kind("AWS Bedrock key", (n) => `ABS${"K"}${n.of(ALNUM, 90)}`, "ABSK"),
  kind("AWS MWS token", (n) => `amzn${".mws."}${n.uuid()}`, "amzn.mws.is.a.name"),
  kind("Google API key", (n) => `AI${"za"}${n.url(35)}`, "AIza"),
  kind("Google OAuth token", (n) => `ya${"29."}${n.url(60)}`, "ya29.short"),
  kind("Google client secret", (n) => `GOC${"SPX-"}${n.url(28)}`, "GOCSPX-"),
  kind("Azure client secret", (n) => `a1b${"8Q~"}${n.url(34)}`, "a1b8Q~x"),
  kind("Twilio account", (n) => `A${"C"}${n.hex(32)}`, "ACCEPTED_and_more_of_it"),
  kind("Tencent key", (n) => `AK${"ID"}${n.alnum(32)}`, "AKID is short"),
  kind("Alibaba key", (n) => `LT${"AI"}${n.alnum(20)}`, "LTAI"),
  kind("Artifactory key", (n) => `AK${"Cp"}${n.alnum(69)}`, "AKCp"),
  kind("Atlassian token", (n) => `ATA${"TT3"}${n.url(180)}`, "ATATT3"),
  kind("Bitbucket app password", (n) => `AT${"BB"}${n.alnum(32)}`, "ATBB"),
  kind("Bitbucket server token", (n) => `BB${"DC-"}${n.alnum(44)}`, "BBDC-1"),
  kind("FCM server key", (n) => `AA${"AA"}${n.alnum(7)}:${n.url(140)}`, "AAAA"),
  kind("Square token", (n) => `EA${"AA"}${n.url(60)}`, "EAAA"),
  kind("Facebook token", (n) => `EA${"AC"}${n.alnum(100)}`, "EAACH of them"),
  kind("EasyPost key", (n) => `EZ${"AK"}${n.alnum(54)}`, "EZAK"),
  kind("GitLab runner", (n) => `GR${"1348941"}${n.url(20)}`, "GR1348941"),
  kind("Twilio key", (n) => `S${"K"}${n.hex(32)}`, "SKELETON_of_the_thing"),
  kind("DigitalOcean token", (n) => `do${"p_v1_"}${n.hex(64)}`, "dop_v1_none"),
  kind("Heroku key", (n) => `HR${"KU-"}${n.uuid()}`, "HRKU-none"),
  kind("Fly token", (n) => `fm${"2_"}${n.alnum(60)}`, "fm2_x"),
  kind("Cloudflare origin CA", (n) => `v1${".0-"}${n.hex(24)}-${n.hex(146)}`, "v1.0-alpha-of-the-whole"),
  kind("Vercel token", (n) => `vc${"p_"}${n.alnum(40)}`, "vcp_x"),
  kind("Vercel blob token", (n) => `vercel${"_blob_rw_"}${n.alnum(40)}`, "vercel_vercel__get_access_to_url"),
  kind("Netlify token", (n) => `nf${"p_"}${n.alnum(36)}`, "nfp_x"),
  kind("Render key", (n) => `rn${"d_"}${n.alnum(32)}`, "rnd_x"),
  kind("Supabase token", (n) => `sb${"p_"}${n.hex(40)}`, "sbp_x"),
  kind("Supabase secret key", (n) => `sb${"_secret_"}${n.url(31)}`, "sb_secret_x"),
  kind("PlanetScale password", (n) => `ps${"cale_pw_"}${n.url(43)}`, "pscale_pw_x"),
  kind("Doppler token", (n) => `dp${".pt."}${n.alnum(43)}`, "dp.pt.x"),
  kind("Vault token", (n) => `hv${"s."}${n.url(90)}`, "hvs.x"),
  kind("Terraform token", (n) => `${n.alnum(14)}${".atlasv1."}${n.url(67)}`, "x.atlasv1.y"),
  kind("Pulumi token", (n) => `pu${"l-"}${n.hex(40)}`, "pul-x"),
  kind("Dynatrace token", (n) => `dt0${"c01."}${n.of(BASE32, 24)}.${n.of(BASE32, 64)}`, "dt0c01.x"),
  kind("Grafana token", (n) => `gl${"sa_"}${n.alnum(32)}_${n.hex(8)}`, "glsa_x"),
  kind("Grafana cloud token", (n) => `gl${"c_"}${n.alnum(60)}`, "glc_x"),
  kind("New Relic key", (n) => `NR${"AK-"}${n.alnum(27)}`, "NRAK-x"),
  kind("LaunchDarkly key", (n) => `sd${"k-"}${n.uuid()}`, "sdk-for-the-whole-thing"),
  kind("Tailscale key", (n) => `ts${"key-auth-"}${n.alnum(12)}-${n.alnum(30)}`, "tskey-x"),
  kind("Scalingo token", (n) => `tk${"-us-"}${n.url(48)}`, "tk-us-x"),
  kind("Infracost key", (n) => `ic${"o-"}${n.alnum(32)}`, "ico-x"),
  kind("Databricks token", (n) => `da${"pi"}${n.hex(32)}`, "dapinormal"),
  kind("GitHub token", (n) => `gh${"p_"}${n.alnum(36)}`, "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
  kind("GitHub app token", (n) => `gh${"s_"}${n.alnum(36)}`, "ghs_x"),
  kind("GitHub fine-grained token", (n) => `github${"_pat_"}${n.alnum(22)}_${n.alnum(59)}`, "github_pat_x"),
  kind("GitLab token", (n) => `gl${"pat-"}${n.url(20)}`, "glpat-x"),
  kind("GitLab CI token", (n) => `gl${"cbt-"}64_${n.url(20)}`, "glcbt-x"),
  kind("Sentry token", (n) => `sntr${"ys_"}${n.alnum(80)}`, "sntrys_x"),
  kind("Sonar token", (n) => `sq${"u_"}${n.hex(40)}`, "squ_x"),
  kind("Buildkite token", (n) => `bk${"ua_"}${n.hex(40)}`, "bkua_x"),
  kind("Prefect key", (n) => `pn${"u_"}${n.alnum(36)}`, "pnu_x"),
  kind("ReadMe key", (n) => `rd${"me_"}${n.alnum(70)}`, "rdme_x"),
  kind("CircleCI token", (n) => `CCI${"PAT_"}${n.alnum(22)}_${n.hex(40)}`, "CCIPAT_x"),
  kind("npm token", (n) => `np${"m_"}${n.alnum(36)}`, "npm_config_registry_of_the_user"),
  kind("RubyGems key", (n) => `ruby${"gems_"}${n.hex(48)}`, "rubygems_x"),
  kind("Clojars token", (n) => `CLO${"JARS_"}${n.hex(60)}`, "CLOJARS_x"),
  kind("PyPI token", (n) => `py${"pi-AgEI"}${n.url(160)}`, "pypi-publish-action-of-the-release-x"),
  kind("Docker token", (n) => `dckr${"_pat_"}${n.url(27)}`, "dckr_pat_x"),
  kind("Crates token", (n) => `ci${"o"}${n.alnum(32)}`, "precious_and_delicious_things"),
  kind("NuGet key", (n) => `oy${"2"}${n.of(`${LOWER}${DIGITS}`, 43)}`, "oy2x"),
  kind("Postman key", (n) => `PM${"AK-"}${n.hex(24)}-${n.hex(34)}`, "PMAK-x"),
  kind("Anthropic key", (n) => `sk-${"ant-"}api03-${n.url(93)}AA`, "sk-ant-api03-..."),
  kind("Anthropic OAuth token", (n) => `sk-${"ant-"}oat01-${n.url(93)}AA`, "sk-ant-oat01-..."),
  kind("OpenAI key", (n) => `sk${"-"}${n.alnum(48)}`, "sk-learn-is-a-library-of-python"),
  kind("OpenAI project key", (n) => `sk-${"proj-"}${n.url(120)}`, "sk-proj-x"),
  kind("OpenRouter key", (n) => `sk-${"or-v1-"}${n.hex(64)}`, "sk-or-v1-x"),
  kind(
    "Hugging Face token",
    (n) => `h${"f_"}${n.of(`${LOWER}ABCDEF`, 33)}K`,
    "hf_hub_download_of_the_library_model_files",
  ),
  kind("Groq key", (n) => `gs${"k_"}${n.alnum(52)}`, "gsk_x"),
  kind("Replicate token", (n) => `r8${"_"}${n.alnum(37)}`, "r8_x"),
  kind("Perplexity key", (n) => `pp${"lx-"}${n.alnum(48)}`, "pplx-x"),
  kind("xAI key", (n) => `xa${"i-"}${n.alnum(80)}`, "xai-x"),
  kind("NVIDIA key", (n) => `nv${"api-"}${n.url(64)}`, "nvapi-x"),
  kind("Tavily key", (n) => `tv${"ly-"}${n.alnum(32)}`, "tvly-x"),
  kind("Together key", (n) => `tg${"p_v1_"}${n.url(43)}`, "tgp_v1_x"),
  kind("Pinecone key", (n) => `pc${"sk_"}${n.alnum(70)}`, "pcsk_x"),
  kind("LangSmith key", (n) => `ls${"v2_pt_"}${n.hex(32)}_${n.hex(10)}`, "lsv2_x"),
  kind("Jina key", (n) => `ji${"na_"}${n.alnum(60)}`, "jina_x"),
  kind(
    "Slack bot token",
    (n) => `xo${"xb-"}${n.of(DIGITS, 12)}-${n.of(DIGITS, 13)}-${n.alnum(24)}`,
    "xoxb-x",
  ),
  kind("Slack user token", (n) => `xo${"xp-"}${n.of(DIGITS, 12)}-${n.of(DIGITS, 12)}-${n.hex(32)}`, "xoxp-x"),
  kind("Slack app token", (n) => `xa${"pp-"}1-A${n.alnum(10)}-${n.of(DIGITS, 13)}-${n.hex(64)}`, "xapp-x"),
  kind("SendGrid key", (n) => `S${"G."}${n.url(22)}.${n.url(43)}`, "SG.is.a.country"),
  kind("Mailgun key", (n) => `ke${"y-"}${n.hex(32)}`, "key-for-the-whole-of-the-thing"),
  kind("Brevo key", (n) => `xkey${"sib-"}${n.hex(64)}-${n.alnum(16)}`, "xkeysib-x"),
  kind("Resend key", (n) => `r${"e_"}${n.alnum(8)}_${n.alnum(24)}`, "re_export_of_all_the_things"),
  kind("Telegram bot token", (n) => `1${n.of(DIGITS, 8)}${":AA"}${n.url(33)}`, "123456789:AAB"),
  kind("Discord bot token", (n) => `M${"T"}${n.of(ALNUM, 22)}.${n.url(6)}.${n.url(38)}`, "MTx.y.z"),
  kind("Stripe live key", (n) => `sk${"_live_"}${n.alnum(24)}`, "sk_live_x"),
  kind("Stripe restricted key", (n) => `rk${"_test_"}${n.alnum(24)}`, "rk_test_x"),
  kind("Stripe webhook secret", (n) => `wh${"sec_"}${n.alnum(32)}`, "whsec_x"),
  kind("Square secret", (n) => `sq0${"csp-"}${n.url(43)}`, "sq0csp-x"),
  kind(
    "PayPal Braintree token",
    (n) => `access${"_token$production$"}${n.alnum(16).toLowerCase()}$${n.hex(32)}`,
    "access_token$production$",
  ),
  kind("Plaid token", (n) => `access${"-sandbox-"}${n.uuid()}`, "access-sandbox-for-all-of-them"),
  kind("Razorpay key", (n) => `rz${"p_live_"}${n.alnum(14)}`, "rzp_live_x"),
  kind("Shopify token", (n) => `sh${"pat_"}${n.hex(32)}`, "shpat_x"),
  kind("Flutterwave key", (n) => `FLW${"SECK_TEST-"}${n.hex(32)}-X`, "FLWSECK-x"),
  kind("Linear key", (n) => `li${"n_api_"}${n.alnum(40)}`, "lin_api_x"),
  kind("Notion token", (n) => `nt${"n_"}${n.alnum(46)}`, "ntn_x"),
  kind("Airtable token", (n) => `pa${"t"}${n.alnum(14)}.${n.hex(64)}`, "patient.records"),
  kind("Figma token", (n) => `fi${"gd_"}${n.url(40)}`, "figd_x"),
  kind("Typeform token", (n) => `tf${"p_"}${n.url(44)}`, "tfp_x"),
  kind("Dropbox token", (n) => `s${"l."}${n.url(130)}`, "sl.x"),
  kind("Contentful token", (n) => `CF${"PAT-"}${n.url(43)}`, "CFPAT-x"),
  kind("age key", (n) => `AG${"E-SECRET-KEY-1"}${n.of(BASE32, 58)}`, "AGE-SECRET-KEY-1"),
  kind("JWT", (n) => `ey${"J"}${n.url(33)}.ey${"J"}${n.url(60)}.${n.url(43)}`, "eyJ is how they begin"),
]

/** Secrets that only their surroundings identify. */
export const VALUES: readonly Kind[] = [
  kind("password", (n) => `${n.alnum(9)}!x`, "password: string", 'const db = { password: "@" }'),
  kind(
    "password in the environment",
    (n) => n.alnum(12),
    "DB_PASSWORD=$SECRET_FROM_ELSEWHERE",
    "export DB_PASSWORD=@ && run",
  ),
  kind("password with a mark", (n) => `${n.of("0123456789", 9)}x!`, "password: denied!", "DB_PASSWORD=@ run"),
  kind("pass", (n) => `${n.alnum(9)}!x`, 'pass: "succeeded"', "auth: { user: 'bob', pass: '@' }"),
  kind("pass in JSON", (n) => `${n.alnum(9)}!x`, '{"pass":"2 of 3"}', '{"user":"bob","pass":"@"}'),
  kind(
    "pass of a named value",
    (n) => `${n.alnum(9)}!x`,
    '["pass","step_12"]',
    '{"name":"DB_PASS","value":"@"}',
  ),
  kind(
    "pass in the environment",
    (n) => `${n.alnum(9)}!x`,
    "First pass: 12345ms",
    "export SMTP_PASS=@ && run",
  ),
  kind("password of an option", (n) => n.alnum(11), "--password is needed", "mysql --password @ shop"),
  kind("AWS secret key", (n) => n.alnum(40), "aws_secret_access_key = <yours>", "aws_secret_access_key = @"),
  kind("API key", (n) => n.alnum(32), "apiKey: process.env.API_KEY", "apiKey: '@'"),
  kind(
    "client secret",
    (n) => n.alnum(40),
    '"client_secret": "your-client-secret"',
    '{"client_secret": "@"}',
  ),
  kind(
    "storage account key",
    (n) => `${n.alnum(86)}==`,
    "AccountKey=",
    "AccountName=shop;AccountKey=@;EndpointSuffix=x",
  ),
  kind(
    "bearer header",
    (n) => n.alnum(40),
    "Authorization: Bearer <token>",
    "curl -H 'Authorization: Bearer @' x",
  ),
  kind(
    "basic header",
    (n) => Buffer.from(`bob:${n.alnum(20)}`).toString("base64"),
    "basic authentication-mechanisms",
    "Authorization: Basic @",
  ),
  kind(
    "database URL",
    (n) => n.alnum(14),
    "postgres://localhost:5432/shop",
    "postgres://bob:@@db.example.com:5432/shop",
  ),
  kind("proxy URL", (n) => n.alnum(10), "https://user@example.com/", "https://bob:@@proxy.example.com"),
  kind(
    "Slack webhook",
    (n) => `T0${n.of(BASE32, 8)}/B0${n.of(BASE32, 8)}/${n.alnum(24)}`,
    "https://hooks.slack.com/",
    "https://hooks.slack.com/services/@",
  ),
  kind(
    "Discord webhook",
    (n) => `${n.of(DIGITS, 18)}/${n.url(68)}`,
    "https://discord.com/api/webhooks/",
    "https://discord.com/api/webhooks/@",
  ),
  kind(
    "Teams webhook",
    (n) => `${n.uuid()}@${n.uuid()}/IncomingWebhook/${n.hex(32)}/${n.uuid()}`,
    "https://x.webhook.office.com/",
    "https://x.webhook.office.com/webhookb2/@",
  ),
  kind("GitHub header", (n) => n.hex(40), "Authorization: token", "Authorization: token @"),
  kind(
    "user of curl",
    (n) => n.alnum(12),
    "curl -u bob https://example.com",
    "curl -u bob:@ https://example.com",
  ),
  kind("sshpass", (n) => n.alnum(12), "sshpass -p $PASS ssh", "sshpass -p '@' ssh shop"),
  kind("signed URL", (n) => n.alnum(43), "sig=none", "https://x.blob.core.windows.net/a?se=1&sig=@&sp=r"),
  kind(
    "login of Docker",
    (n) => Buffer.from(`bob:${n.alnum(24)}`).toString("base64"),
    '"auths": {}',
    '{"auth": "@"}',
  ),
  kind("password of letters", (n) => n.of(LOWER, 16), "password=someone", "login=bob&password=@&x=1"),
  kind("registry token", (n) => n.alnum(36), "//registry.npmjs.org/", "//registry.npmjs.org/:_authToken=@"),
  kind(
    "named value",
    (n) => n.alnum(12),
    '"name": "PASSWORD", "value": ""',
    '{"name": "DB_PASSWORD", "value": "@"}',
  ),
  kind("XML", (n) => n.alnum(12), "<password></password>", "<password>@</password>"),
]

export const inContext = ({ in: within = "@" }: Kind, secret: string): string =>
  // Replaces the first of the two, because the other one precedes the URL's host.
  within.includes("@@") ? within.replace("@@", () => `${secret}@`) : within.replace("@", () => secret)

/** A private key as OpenSSL writes it, but nobody's. */
export const privateKey = (noise: Noise, type = "RSA "): { text: string; lines: string[] } => {
  const lines = Array.from({ length: 12 }, () => noise.alnum(64))
  const mark = (word: string): string => `-----${word} ${type}PRIVATE ${"KEY"}-----`
  return { text: [mark("BEGIN"), ...lines, mark("END"), ""].join("\n"), lines }
}
