/**
 * Where a piece stands in a text, in time proportional to both (Knuth, Morris, Pratt). `indexOf` takes the product of their
 * lengths for texts that are made for it, and a model may write both. Pure.
 */

/** Places of the piece, which may overlap, the first ones up to `most`. The piece is not empty. */
export const placesOf = (text: string, piece: string, most: number): ReadonlyArray<number> => {
  const places: Array<number> = []
  const borders = bordersOf(piece)
  let matched = 0
  for (let at = 0; at < text.length && places.length < most; at += 1) {
    const code = text.charCodeAt(at)
    while (matched > 0 && piece.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0
    if (piece.charCodeAt(matched) === code) matched += 1
    if (matched < piece.length) continue
    places.push(at - piece.length + 1)
    matched = borders[matched - 1] ?? 0
  }
  return places
}

/** For each beginning of the piece, how long the longest end of it is that is a beginning too. */
const bordersOf = (piece: string): Int32Array => {
  const borders = new Int32Array(piece.length)
  let border = 0
  for (let at = 1; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at)
    while (border > 0 && piece.charCodeAt(border) !== code) border = borders[border - 1] ?? 0
    if (piece.charCodeAt(border) === code) border += 1
    borders[at] = border
  }
  return borders
}
