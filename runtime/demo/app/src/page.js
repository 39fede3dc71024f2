/** A whole page around `body`, which is HTML. */
export const page = (title, body) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1>
${body}
</body>
</html>
`
