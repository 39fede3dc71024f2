/** Shortens texts, and says so in them. */

/** At most `limit` characters and a mark: the head and the tail, where what matters tends to be. */
export const cutMiddle = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const head = Math.ceil(limit * 0.7)
  const tail = limit - head
  return `${whole(text.slice(0, head))}\n… [${text.length - limit} characters cut] …\n${tail === 0 ? "" : whole(text.slice(-tail))}`
}

/** No half of a surrogate pair at either end. */
const whole = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "")
