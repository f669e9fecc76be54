/** Finds the passwords, tokens and secret paths in addresses. Pure. */
import { isChosen } from "./chosen.ts"
import { isPlaceholder, isRandom, wordiness } from "./value.ts"
import type { Value } from "./value-end.ts"

const authority = (): RegExp => /:\/\/([^\s"'`\\/<>?#]{1,512})/y
/** A password with a slash, question mark or number sign, which should be encoded there but often is not. */
const unencoded = (): RegExp =>
  /:\/\/[^\s"'`\\/@:?#<>]{0,64}:([^\s"'`\\@<>]{2,256})@[\w.-]{1,253}(?=[:/?\s"'`\\,;)]|$)/y
const hooks = (): RegExp =>
  /:\/\/(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/([\w/+-]{20,512})|(?:\w{1,16}\.)?discord(?:app)?\.com\/api\/(?:v\d{1,3}\/)?webhooks\/(\d{1,32}\/[\w-]{30,512})|[\w.-]{0,128}webhook\.office\.com\/webhookb2\/([\w@/-]{40,512})|hooks\.zapier\.com\/hooks\/catch\/(\d{1,32}\/\w{1,512})|api\.telegram\.org\/(?:file\/)?bot(\d{6,12}:[\w-]{30,64}))/y

const example = (): RegExp => /^(?:pass(?:word|wd)?|pwd|pw|secret|token|user|.{0,2})$/i

/** What servers are set up with, as the user and the password of every example. */
const standard = (): RegExp =>
  /^(?:postgres|mysql|mariadb|root|admin|guest|rabbitmq|minio(?:admin)?|redis|mongo|test)$/i

/**
 * The password in a URL, or the secret path of a web hook.
 *
 * @param at index of `://`
 */
export function urlSecretAt(text: string, at: number): Value | undefined {
  const hook = groupAt(hooks(), text, at)
  if (hook !== undefined) return hook
  const regex = authority()
  regex.lastIndex = at
  const host = regex.exec(text)?.[1]
  if (host === undefined) return undefined
  // A password may contain `@`.
  const sign = host.lastIndexOf("@")
  const isWeb = /^(?:https?|wss?|file)$/.test(text.slice(Math.max(0, at - 5), at).replace(/^.*[^a-z]/, ""))
  if (sign < 0) return isWeb || !host.includes(":") ? undefined : isReal(text, groupAt(unencoded(), text, at))
  const start = at + 3
  const colon = host.indexOf(":")
  if (colon < 0 || colon > sign) {
    const user = host.slice(0, sign)
    return isWeb && isRandom(user, 20) ? { start, end: start + sign } : undefined
  }
  // `https://TOKEN:x-oauth-basic@…`
  const user = host.slice(0, colon)
  if (isWeb && isRandom(user, 20)) return { start, end: start + colon }
  if (user === host.slice(colon + 1, sign) && standard().test(user)) return undefined
  return isReal(text, { start: start + colon + 1, end: start + sign })
}

function isReal(text: string, found: Value | undefined): Value | undefined {
  if (found === undefined) return undefined
  const value = text.slice(found.start, found.end)
  if (value.length < 3 || isPlaceholder(value) || example().test(value)) return undefined
  return /^[a-z]+(?:-[a-z]+)*$/i.test(value) &&
    value.length < 8 &&
    wordiness(value) > 0.3 &&
    !isChosen(value, true)
    ? undefined
    : found
}

function groupAt(regex: RegExp, text: string, at: number): Value | undefined {
  regex.lastIndex = at
  const match = regex.exec(text)
  const value = match?.slice(1).find((one) => one !== undefined)
  if (match === null || value === undefined) return undefined
  const start = match.index + match[0].lastIndexOf(value)
  return { start, end: start + value.length }
}
