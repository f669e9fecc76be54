/**
 * The frame of every page: one file that loads nothing. Its style and script are named by their hashes in its own security
 * policy, so no other can run, whatever is in the page. Pure.
 */
import { iconSheet } from "./icons.ts"
import { Html, html, policyHash } from "./markup.ts"
import style from "./page.css" with { type: "text" }
import script from "./page.js" with { type: "text" }

/** @param version of ctxbridge */
export function* documentHtml(title: string, version: string, body: Iterable<Html>): Generator<Html> {
  const policy = [
    "default-src 'none'",
    "img-src data:",
    `style-src ${policyHash(style)}`,
    `script-src ${policyHash(script)}`,
    "media-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")
  yield html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${iconSheet()}
`
  yield* body
  yield html`<footer>Made by ctxbridge ${version} from its archive. Secrets were filled in before they were archived. This page loads nothing from anywhere.</footer>
<script>${new Html(script)}</script>
</body>
</html>
`
}
