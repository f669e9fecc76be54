/**
 * Sessions of one project, each on a different subject, for measuring what a restore gives from them to another
 * session. Pure.
 */

export interface Said {
  readonly prompt: string
  readonly answer: string
}

/** Sessions by subject. No subject occurs in another session. */
export const SESSIONS = {
  webhooks: [
    {
      prompt: "Webhooks get lost when Redis restarts. Make the retry queue durable.",
      answer:
        "The retry queue now lives in a Redis stream with a consumer group; pending webhooks are claimed again after a restart.",
    },
    {
      prompt: "Customers get some webhooks twice since yesterday",
      answer:
        "Deliveries carry an idempotency key now, and receivers that answer slowly are not sent a second copy.",
    },
  ],
  invoices: [
    {
      prompt: "The invoice PDF cuts long product names off in the second column",
      answer:
        "renderInvoice wraps product names at the column's edge; the footer moved to the next page with it.",
    },
    {
      prompt: "Rounding of VAT differs by one cent from what the accountant expects",
      answer: "VAT is rounded per invoice and not per line, half to even, as the accountant's sheet does.",
    },
  ],
  login: [
    {
      prompt: "Add passkeys to the login page, with the password as a fallback",
      answer: "startPasskeyLogin asks the authenticator first; WebAuthn challenges expire after two minutes.",
    },
    {
      prompt: "Sessions of people who log in through Okta end after five minutes",
      answer: "The refresh token of the SAML bridge was thrown away; it is kept in the encrypted cookie now.",
    },
  ],
  search: [
    {
      prompt: "Product search finds nothing for words with umlauts",
      answer:
        "The analyzer folds umlauts before stemming; the Elasticsearch mapping was reindexed as products_v7.",
    },
    { prompt: "Make it faster", answer: "Facets are counted on a sample of ten thousand documents." },
  ],
  images: [
    {
      prompt: "Thumbnails of portrait photos are rotated by 90 degrees",
      answer:
        "sharp reads the EXIF orientation before resizing; thumbnails of portrait photos stand upright.",
    },
    {
      prompt: "AVIF encoding eats all the CPU of the upload worker",
      answer: "AVIF is encoded at effort 3, one image at a time, on a queue of its own.",
    },
  ],
  inventory: [
    {
      prompt: "Two buyers can order the last piece of the stock at the same moment. Close that race.",
      answer:
        "reserveStock takes a row lock with SELECT FOR UPDATE SKIP LOCKED; the second buyer is told at once.",
    },
    {
      prompt: "Warehouse imports abort on a byte order mark in the supplier's spreadsheet",
      answer: "parseSupplierSheet strips the byte order mark and says in which row a price is missing.",
    },
  ],
  mobile: [
    {
      prompt: "The checkout button hides behind the keyboard on small phones",
      answer: "The sheet listens to visualViewport and moves the checkout button above the keyboard.",
    },
    {
      prompt: "Push notifications open the wrong order",
      answer:
        "Deep links carry the order's uuid; the notification tap handler waits for the router to be ready.",
    },
  ],
  kubernetes: [
    {
      prompt: "Rollouts drop requests while pods are terminating",
      answer:
        "A preStop hook sleeps for ten seconds, and the readiness probe fails first, so that rollouts drop nothing.",
    },
    {
      prompt: "Move the Terraform state of the staging cluster to the new bucket",
      answer: "terraform init -migrate-state was run for staging; the lock table is dynamodb-tf-staging.",
    },
  ],
  newsletter: [
    {
      prompt: "Unsubscribe links in the newsletter lead to a 404",
      answer:
        "The unsubscribe token is signed with the list's key again; old newsletter links are redirected.",
    },
    {
      prompt: "SPF and DKIM fail for mails that the newsletter sends through Postmark",
      answer: "The DKIM selector pm-2026 was published; SPF includes Postmark's servers and passes.",
    },
  ],
  migrations: [
    {
      prompt: "The Postgres migration that adds tax_region locks the orders table for minutes",
      answer:
        "tax_region is added without a default, filled in batches by backfillTaxRegion, and constrained with NOT VALID.",
    },
  ],
  translations: [
    {
      prompt: "Übersetze die Bestellbestätigung ins Niederländische und prüfe die Pluralformen",
      answer: "Die Bestellbestätigung liegt in nl.json; Pluralformen folgen den CLDR-Regeln.",
    },
    {
      prompt: "购物车里的优惠券折扣在结算页面显示错误，请修复",
      answer: "优惠券折扣现在在结算页面按四舍五入显示。",
    },
  ],
  accessibility: [
    {
      prompt: "Screen readers do not announce the price when the quantity changes",
      answer:
        "The price stands in an aria-live region; VoiceOver and NVDA announce it after a quantity change.",
    },
  ],
  chores: [
    { prompt: "fix the tests", answer: "Three snapshots were out of date. All tests pass." },
    {
      prompt: "update the dependencies and run the build",
      answer: "Dependencies are up to date; the build is green.",
    },
    {
      prompt: "commit this and open a pull request",
      answer: "Committed as one change; the pull request is open.",
    },
    { prompt: "continue", answer: "Done with the rest of the list." },
    {
      prompt: "Räum bitte auf und mach dann weiter",
      answer: "Aufgeräumt; weiter geht es mit dem nächsten Schritt.",
    },
  ],
} as const satisfies Readonly<Record<string, readonly Said[]>>

export type SessionName = keyof typeof SESSIONS
