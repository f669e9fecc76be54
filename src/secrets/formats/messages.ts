/** Formats of the tokens of chats, mail, phones and social networks. Pure. */
import type { Format } from "./format.ts"

export const MESSAGES: readonly Format[] = [
  // chats
  ["Slack", "xox(a|b|c|d|e|o|p|r|s|x)(-|.){dot 14..250}", "gitleaks"],
  [
    "Slack cookie",
    "xoxd-{b64 60..200}(%{Hex 2}{b64 0..200})?(%{Hex 2}{b64 0..200})?(%{Hex 2}{b64 0..200})?",
    "betterleaks",
  ],
  ["Slack app", "xapp-{d 1}-{up 8..12}-{d 10..13}-{Hex 60..70}", "gitleaks"],
  ["Slack, other kinds", "(xapp|xwfp)-{url 20..150}", "slack.dev"],
  ["Discord bot", "#discord:(M|N|O){url 22..27}.{url 6..7}.{url 27..40}", "trufflehog"],
  ["Discord, second factor", "mfa.{url 80..90}", "discord.com"],
  ["Telegram bot", "{d 8..10}:AA{url 30..33}", "noseyparker"],
  ["Lark", "^(t|u)-{an 32..60}!", "open.larksuite.com"],
  ["Matrix", "syt_{an 4..60}_{an 20}_{an 6}", "spec.matrix.org"],
  ["Intercom", "dG9rO{b64 50..60}", "developers.intercom.com"],
  ["HubSpot", "pat-(na|eu|ap|la){d 1}-{uuid}", "trufflehog"],
  ["Voiceflow", "VF.(DM|WS).{hex 24}.{an 16}(.{an 8})?", "trufflehog"],
  ["Voiceflow workspace", "VF.WS.{an 16..24}.{an 16}", "voiceflow.com"],
  // mail
  ["SendGrid", "SG.{url 16..32}.{url 16..64}", "gitleaks"],
  ["Mailgun", "^key-{hex 32}", "gitleaks"],
  ["Mailgun, newer", "#hex:{hex 32}-{hex 8}-{hex 8}!", "gitleaks"],
  ["Mailchimp", "{hex 32}-us{d 1..2}!", "gitleaks"],
  ["Mandrill", "^md-{mix 22}!", "mailchimp.com"],
  ["Brevo", "(xkeysib|xsmtpsib)-{hex 40..64}(-{an 12..20})?", "gitleaks"],
  ["Resend", "re_{an 6..10}_{an 16..30}", "resend.com"],
  ["MailerSend", "mlsn.{hex 64}", "mailersend.com"],
  ["OneSignal", "os_v2_(app|org)_{low 90..120}", "documentation.onesignal.com"],
  ["Courier", "pk_(prod|test)_{up 28}!", "kingfisher"],
  ["Knock", "sk_(test|live|prod)_{url 30..60}", "docs.knock.app"],
  ["Plunk", "sk_{hex 48}", "docs.useplunk.com"],
  ["Beamer", "^b_{mix 44}=!", "gitleaks"],
  ["PubNub", "sec-c-{b64 48..60}", "pubnub.com"],
  ["PubNub keys", "(sub|pub)-c-{uuid}", "trufflehog"],
  // phones
  ["Twilio account", "AC{hex 32}!", "trufflehog"],
  ["Twilio key", "SK{Hex 32}!", "gitleaks"],
  ["Telnyx", "KEY0{up 31}_{an 20..24}", "developers.telnyx.com"],
  ["Infobip", "#hex:{hex 32}-{uuid}", "infobip.com"],
  // social networks
  ["Facebook", "EAA{az 1}{an 60..300}", "gitleaks"],
  ["Instagram", "IGQV{url 100..200}", "developers.facebook.com"],
  ["Instagram, Threads", "(IGAA|THAA){an 100..250}", "developers.facebook.com"],
  [
    "Twitter bearer",
    "AAAAAAAAAAAAAAAAAAAAA{an 1}({an 60..100})(%{Hex 2}{an 1..90})?(%{Hex 2}{an 1..90})?",
    "gitleaks",
  ],
  ["LinkedIn", "WPL_AP(0|1).({url 10..60}.)?{b64 12..40}", "docs.microsoft.com/linkedin"],
  ["TikTok", "^act.{an 50..70}(!{d 4}.(e|s|u)1)?", "developers.tiktok.com"],
  ["Pinterest", "pin(a|r|c)_{up 50..100}", "developers.pinterest.com"],
  ["Riot", "RGAPI-{uuid}", "developer.riotgames.com"],
  ["Spotify", "BQ(A|B|C|D){url 120..250}!", "developer.spotify.com"],
  ["Polar", "polar_(at|oat|rt|pat|cs|ci|whs|rst|ev|mst|cst){url 1..4}{url 30..50}", "polar.sh"],
]
