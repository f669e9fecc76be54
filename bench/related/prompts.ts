/**
 * Prompts for the sessions in sessions.ts: some unrelated to all of them, some that continue where one of them left
 * off. Pure.
 */
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import type { SessionName } from "./sessions.ts"

/** Nothing from another session helps here. */
export const UNRELATED: readonly string[] = [
  "continue",
  "ok go on",
  "yes",
  "1",
  "?",
  "fix the tests",
  "run the tests again and fix what fails",
  "commit and push",
  "open a pull request with a good description",
  "why?",
  "Make it faster",
  "looks good, please update the readme and the changelog",
  "Can you explain how this project is structured and what each folder is for?",
  "refactor this function so that it is easier to read, and add a comment where it is not obvious",
  "There is a bug in the last change: the build fails with a type error. Please fix it and run everything again.",
  "undo that",
  "Rename the variable and move the helper into its own file",
  "add error handling and logging to all of the service classes",
  "Bump the version to 2.4.0 and write the release notes",
  "What is left to do? Make a list, then start with the first item.",
  "/review",
  "Mach bitte weiter und behebe die restlichen Fehler",
  "Räum den Code auf und schreib Tests für die neuen Funktionen",
  "continúa con el siguiente paso y corrige los errores",
  "corrige les tests qui échouent et fais un commit",
  "继续",
  "请修复测试然后提交代码",
  "続けてください",
  "продолжай и исправь ошибки",
  "계속 해줘",
  // Subjects of their own, with an occasional word that another session has too.
  "Draw the org chart of the sales team as an SVG with d3-hierarchy",
  "The customer survey should allow half stars in its rating widget",
  "Port the tide-prediction module from Fortran to Rust and keep the harmonic constants",
  "Show a map of all stores with Leaflet, clustered, with opening hours in a popup",
  "The chess clock of the lunch-break page should count down in tenths of a second",
  "Write a parser for EDIFACT ORDERS messages with segments, qualifiers and a useful error position",
  "The dark theme has too little contrast in the sidebar; use the palette of the brand book",
  "Our Grafana dashboard shows gaps at midnight, I think the scraper is throttled",
  "Schreibe ein Skript, das die Zeiterfassung der Werkstatt nach DATEV überträgt",
  "Ajoute un calendrier des livraisons avec les jours fériés de chaque pays",
  "为仓库机器人编写路径规划算法，避免相互碰撞",
  "The profiler says that 40 % of the time goes into JSON.stringify of the audit log",
  // Written when the threshold was set, and measured once.
  "Please write a migration guide for the customers who still use the old REST API",
  "The CI takes 25 minutes, profile it and cache what can be cached",
  "Add a button to the order page that prints the packing slip on the warehouse printer",
  "Restart the worker and tell me whether the queue is empty now",
  "Upgrade React to 19 and fix the hydration warnings on the product page",
  "Where do we set the timeout of the upload? I want it to be configurable per customer",
  "Write an email to the supplier that we will switch the spreadsheet format in June",
  "The password reset page shows the wrong language",
  "Implement feature flags with percentage rollouts per country",
  "Add OpenTelemetry traces to the checkout, the payment provider and the mail sender",
  "Could you make the price bold and the quantity smaller on mobile?",
  "Generate 200 fake products with images and prices for the demo",
  "Why is the second column of the report empty when I filter by region?",
  "Photos of the team for the about page, in two columns, rounded corners",
  "Ich brauche eine Übersicht aller Bestellungen vom letzten Monat als CSV",
  "Peux-tu traduire la page d'accueil en néerlandais et vérifier les liens ?",
  "Haz que el botón de pagar sea verde y más grande en teléfonos",
  "优化首页加载速度，图片改成懒加载",
  "トップページの検索フォームを右に移動してください",
  "the lock on my laptop's keyboard is broken haha, anyway: lint the whole repo",
  "delete all snapshots, then regenerate them with the new renderer",
  "Explain to me like I'm five what the retry logic in the SDK client does",
  "We need a status page that says whether the shop is up, with history for 90 days",
  "Set up a second region in Frankfurt with read replicas",
  "implement the coupon stacking rules from the spreadsheet Anna sent",
]

/** Long prompts: a pasted log or file contains many words of all kinds. */
export function longPrompts(seed: number): string[] {
  const dice = new Dice(seed)
  const parts =
    "worker stock order page price mail token image row stream product region lock state queue retry".split(
      " ",
    )
  const line = (n: number): string =>
    `${String(n).padStart(4, "0")} ${dice.pick(["INFO", "WARN", "DEBUG"])} ${dice.pick(LONG)} ${dice.pick(LONG)} ` +
    `${dice.pick(parts)}=${dice.between(1, 9999)} ${dice.pick(LONG)}`
  const log = (lines: number): string => Array.from({ length: lines }, (_, n) => line(n)).join("\n")
  return [
    `What does this log say?\n${log(40)}`,
    `${log(300)}\n\nfix this please`,
    `continue\n${"and then the next one, ".repeat(200)}`,
    Array.from({ length: 400 }, () => dice.pick(LONG)).join(" "),
  ]
}

const LONG = (
  "turbine bearing vibration spectrum gearbox lubricant anemometer nacelle pitch yaw converter grid inverter curtailment " +
  "blade icing lidar wake shear hub torque stall brake hydraulic accumulator rotor coupling alignment oil filter"
).split(" ")

export interface Related {
  readonly prompt: string
  /** The session that should be given, and which of its turns, from 0. */
  readonly session: SessionName
  readonly turn: number
}

/** Someone returns to what another session was about, in their own words. */
export const RELATED: readonly Related[] = [
  {
    prompt: "After a Redis restart some webhooks still go missing from the retry queue",
    session: "webhooks",
    turn: 0,
  },
  {
    prompt: "Which consumer group claims pending webhooks in the Redis stream?",
    session: "webhooks",
    turn: 0,
  },
  {
    prompt: "A receiver complains about duplicate deliveries: is the idempotency key sent with webhooks?",
    session: "webhooks",
    turn: 1,
  },
  {
    prompt: "In the invoice PDF, product names are still cut in the column next to the price",
    session: "invoices",
    turn: 0,
  },
  { prompt: "renderInvoice prints the footer twice on the invoice", session: "invoices", turn: 0 },
  { prompt: "The accountant says VAT rounding is off by a cent again", session: "invoices", turn: 1 },
  {
    prompt: "Passkeys: the authenticator prompt does not show on the login page in Safari",
    session: "login",
    turn: 0,
  },
  { prompt: "startPasskeyLogin throws when WebAuthn is not there", session: "login", turn: 0 },
  {
    prompt: "Okta users are thrown out again, the SAML bridge seems to lose its refresh token",
    session: "login",
    turn: 1,
  },
  { prompt: "Elasticsearch: add a synonym list to the analyzer of products_v7", session: "search", turn: 0 },
  { prompt: "Portrait photos from Android have rotated thumbnails", session: "images", turn: 0 },
  {
    prompt: "Try AVIF encoding at a higher effort now that the upload worker has four cores",
    session: "images",
    turn: 1,
  },
  {
    prompt: "reserveStock deadlocks when two buyers order the same pieces in another sequence",
    session: "inventory",
    turn: 0,
  },
  {
    prompt: "The supplier's spreadsheet has a byte order mark and semicolons now",
    session: "inventory",
    turn: 1,
  },
  { prompt: "On iPhone SE the checkout button is behind the keyboard again", session: "mobile", turn: 0 },
  {
    prompt: "Push notifications: deep links to an order should open the invoice when it is paid",
    session: "mobile",
    turn: 1,
  },
  {
    prompt: "We still see dropped requests in rollouts, does the preStop hook run on all pods?",
    session: "kubernetes",
    turn: 0,
  },
  {
    prompt: "terraform plan for staging says the state lock in dynamodb-tf-staging is held",
    session: "kubernetes",
    turn: 1,
  },
  { prompt: "Unsubscribe links of the Christmas newsletter are broken", session: "newsletter", turn: 0 },
  { prompt: "Postmark says our DKIM selector will expire", session: "newsletter", turn: 1 },
  {
    prompt: "backfillTaxRegion stopped halfway, orders without tax_region remain",
    session: "migrations",
    turn: 0,
  },
  {
    prompt: "Die Bestellbestätigung hat im Niederländischen falsche Pluralformen",
    session: "translations",
    turn: 0,
  },
  { prompt: "结算页面的优惠券折扣还是显示错误", session: "translations", turn: 1 },
  {
    prompt: "NVDA does not announce the price after the quantity was changed in the cart",
    session: "accessibility",
    turn: 0,
  },
  {
    prompt: "Is the aria-live region for prices also announced by VoiceOver on iOS?",
    session: "accessibility",
    turn: 0,
  },
  // Written when the threshold was set, and measured once.
  {
    prompt: "Still duplicates: two deliveries of the same webhook with different idempotency keys",
    session: "webhooks",
    turn: 1,
  },
  {
    prompt: "VAT per invoice is rounded half up somewhere, the accountant's sheet says half to even",
    session: "invoices",
    turn: 1,
  },
  {
    prompt: "WebAuthn challenge expired: can passkeys wait longer than two minutes on the login page?",
    session: "login",
    turn: 0,
  },
  { prompt: "umlauts again: the analyzer does not fold ß when stemming", session: "search", turn: 0 },
  {
    prompt: "EXIF orientation is ignored for HEIC photos, their thumbnails lie on the side",
    session: "images",
    turn: 0,
  },
  {
    prompt: "SELECT FOR UPDATE SKIP LOCKED makes reserveStock skip rows it should wait for",
    session: "inventory",
    turn: 0,
  },
  {
    prompt: "parseSupplierSheet should name the column too when a price is missing",
    session: "inventory",
    turn: 1,
  },
  {
    prompt:
      "visualViewport is undefined in the in-app browser, so the checkout button stays hidden behind the keyboard",
    session: "mobile",
    turn: 0,
  },
  { prompt: "readiness probe flaps while the preStop hook sleeps", session: "kubernetes", turn: 0 },
  {
    prompt: "old newsletter links: does the redirect keep the unsubscribe token?",
    session: "newsletter",
    turn: 0,
  },
  {
    prompt: "tax_region constraint NOT VALID: when do we validate it on the orders table?",
    session: "migrations",
    turn: 0,
  },
  {
    prompt: "Pluralformen in nl.json: CLDR kennt für Niederländisch nur zwei",
    session: "translations",
    turn: 0,
  },
]
