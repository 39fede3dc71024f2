/** Character references of HTML: numbers, and the names that pages use. An unknown name stays as it is written. Pure. */

const names: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", ensp: " ", emsp: " ", thinsp: " ", shy: "" },
  ...{ copy: "©", reg: "®", trade: "™", sect: "§", para: "¶", deg: "°", micro: "µ", middot: "·", bull: "•" },
  ...{ hellip: "…", mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„" },
  ...{ laquo: "«", raquo: "»", lsaquo: "‹", rsaquo: "›", larr: "←", rarr: "→", uarr: "↑", darr: "↓", harr: "↔" },
  ...{ times: "×", divide: "÷", minus: "−", plusmn: "±", ne: "≠", le: "≤", ge: "≥", asymp: "≈", infin: "∞" },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", frac12: "½", frac14: "¼", frac34: "¾", sup2: "²", sup3: "³" },
  ...{ auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß", aring: "å", Aring: "Å" },
  ...{ aelig: "æ", oslash: "ø", eacute: "é", egrave: "è", ecirc: "ê", agrave: "à", aacute: "á", acirc: "â" },
  ...{ ccedil: "ç", ntilde: "ñ", oacute: "ó", iacute: "í", uacute: "ú", check: "✓", star: "☆", zwnj: "", zwj: "" },
  ...{ lbrace: "{", rbrace: "}", lbrack: "[", rbrack: "]", lpar: "(", rpar: ")", num: "#", dollar: "$", colon: ":" },
  ...{ comma: ",", period: ".", semi: ";", sol: "/", bsol: "\\", lowbar: "_", grave: "`", equals: "=", plus: "+" },
}

const reference = /&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,8})|([A-Za-z][A-Za-z0-9]{1,30}));/g

export const decodeEntities = (text: string): string =>
  text.includes("&")
    ? text.replace(reference, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
        if (name !== undefined) return Object.hasOwn(names, name) ? (names[name] ?? whole) : whole
        return character(decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal))
      })
    : text

const replacement = "\u{fffd}"

/** No half of a pair, no NUL, no control character. */
const character = (code: number): string => {
  const control = code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d
  if (control || code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff)) return replacement
  return String.fromCodePoint(code)
}
