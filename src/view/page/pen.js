/**
 * A pen that draws pictures on a canvas or into an SVG file.
 * @typedef {object} Pen
 * @property {(x: number, y: number, width: number, height: number, fill: string, opacity?: number) => void} rect
 * @property {(x: number, y: number, width: number, height: number, stroke: string, thick: number) => void} frame
 * @property {(x1: number, y1: number, x2: number, y2: number, stroke: string, thick: number, opacity?: number, dash?: number[]) => void} line
 * @property {(text: string, x: number, y: number, style: TextStyle) => void} text y is the middle of the letters
 * @property {(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number, photo?: boolean) => void} image pixels stay sharp, but of a photo
 */

/**
 * @typedef {object} TextStyle
 * @property {number} size
 * @property {string} fill
 * @property {'left' | 'center' | 'right'} [align]
 * @property {number} [turned] degrees, clockwise
 * @property {boolean} [bold]
 */

/** Fonts that systems have; those of other scripts follow by themselves. */
const FONTS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei", sans-serif';

/** Letters of scripts that are read from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** @param {TextStyle} style */
function fontOf({ size, bold }) {
  return `${bold ? '600 ' : ''}${size}px ${FONTS}`;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @returns {Pen}
 */
function canvasPen(context) {
  return {
    rect(x, y, width, height, fill, opacity = 1) {
      context.globalAlpha = opacity;
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
      context.globalAlpha = 1;
    },
    frame(x, y, width, height, stroke, thick) {
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.setLineDash([]);
      context.strokeRect(x, y, width, height);
    },
    line(x1, y1, x2, y2, stroke, thick, opacity = 1, dash = []) {
      context.globalAlpha = opacity;
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
      context.stroke();
      context.globalAlpha = 1;
    },
    text(text, x, y, style) {
      context.save();
      context.font = fontOf(style);
      context.fillStyle = style.fill;
      context.textAlign = style.align ?? 'left';
      context.textBaseline = 'middle';
      context.direction = RIGHT_TO_LEFT.test(text) ? 'rtl' : 'ltr';
      context.translate(x, y);
      if (style.turned) context.rotate((style.turned * Math.PI) / 180);
      context.fillText(text, 0, 0);
      context.restore();
    },
    image(picture, x, y, width, height, photo = false) {
      context.imageSmoothingEnabled = photo;
      context.drawImage(picture, x, y, width, height);
    },
  };
}

/** @param {string} text */
function escapedXml(text) {
  const names = /** @type {Record<string, string>} */ ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' });
  // eslint-disable-next-line no-control-regex -- these characters cannot stand in XML
  return text.replace(/[<>&"]/g, (sign) => names[sign] ?? '').replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '\ufffd');
}

/** Larger pictures are kept as pixels in SVG files. */
const MOST_RECTANGLES = 512 * 512;

/**
 * A path for each colour, of rectangles over pixels of that colour that follow each other; none for
 * transparent pixels.
 * @param {Uint32Array} pixels row after row
 * @param {number} columns
 */
function pathsOfPixels(pixels, columns) {
  /** @type {Map<number, string[]>} */
  const paths = new Map();
  for (let at = 0; at < pixels.length; ) {
    const pixel = pixels[at] ?? 0;
    const [row, first] = [Math.floor(at / columns), at % columns];
    let end = first;
    while (end < columns && pixels[row * columns + end] === pixel) ++end;
    at = row * columns + end;
    if (pixel >>> 24 === 0) continue;
    const path = paths.get(pixel) ?? [];
    path.push(`M${first} ${row}h${end - first}v1h${first - end}z`);
    paths.set(pixel, path);
  }
  return [...paths].map(([pixel, path]) => `<path fill="${colourOf(pixel)}" d="${path.join('')}"/>`);
}

/**
 * A pen whose drawing is read with `svg()`.
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @returns {Pen & {svg: () => string}}
 */
function svgPen(width, height, title) {
  /** @type {string[]} */
  const parts = [];
  const digits = (/** @type {number} */ value) => String(Number(value.toFixed(2)));
  const box = (/** @type {number[]} */ [x = 0, y = 0, across = 0, down = 0]) =>
    `x="${digits(x)}" y="${digits(y)}" width="${digits(across)}" height="${digits(down)}"`;
  return {
    rect(x, y, across, down, fill, opacity = 1) {
      parts.push(`<rect ${box([x, y, across, down])} fill="${fill}"${opacity < 1 ? ` fill-opacity="${digits(opacity)}"` : ''}/>`);
    },
    frame(x, y, across, down, stroke, thick) {
      parts.push(`<rect ${box([x, y, across, down])} fill="none" stroke="${stroke}" stroke-width="${digits(thick)}"/>`);
    },
    line(x1, y1, x2, y2, stroke, thick, opacity = 1, dash = []) {
      parts.push(
        `<line x1="${digits(x1)}" y1="${digits(y1)}" x2="${digits(x2)}" y2="${digits(y2)}" stroke="${stroke}" ` +
          `stroke-width="${digits(thick)}" stroke-opacity="${digits(opacity)}"${dash.length ? ` stroke-dasharray="${dash.join(' ')}"` : ''}/>`);
    },
    text(text, x, y, { size, fill, align = 'left', turned = 0, bold = false }) {
      const rtl = RIGHT_TO_LEFT.test(text);
      const anchor = { left: rtl ? 'end' : 'start', center: 'middle', right: rtl ? 'start' : 'end' }[align];
      parts.push(
        `<text transform="translate(${digits(x)} ${digits(y)})${turned ? ` rotate(${digits(turned)})` : ''}" font-size="${digits(size)}" ` +
          `fill="${fill}" text-anchor="${anchor}" dy="0.35em"${bold ? ' font-weight="600"' : ''}${rtl ? ' direction="rtl"' : ''}>${escapedXml(text)}</text>`);
    },
    image(picture, x, y, across, down, photo = false) {
      const { width: columns, height: rows } = picture;
      if (!photo && columns * rows <= MOST_RECTANGLES) {
        const { data } = contextOf(picture).getImageData(0, 0, columns, rows);
        const paths = pathsOfPixels(new Uint32Array(data.buffer), columns);
        const scaled = `translate(${digits(x)} ${digits(y)}) scale(${across / columns} ${down / rows})`;
        parts.push(`<g transform="${scaled}" shape-rendering="crispEdges">${paths.join('')}</g>`);
        return;
      }
      parts.push(
        `<image ${box([x, y, across, down])} preserveAspectRatio="none" ${photo ? '' : 'image-rendering="pixelated" '}href="${picture.toDataURL('image/png')}"/>`);
    },
    svg: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${digits(width)}" height="${digits(height)}" ` +
      `viewBox="0 0 ${digits(width)} ${digits(height)}" font-family="${escapedXml(FONTS)}">` +
      `<title>${escapedXml(title)}</title>\n${parts.join('\n')}\n</svg>\n`,
  };
}

const measuring = contextOf(document.createElement('canvas'));

/** Widths that were measured: the maps of all heads have the same labels. @type {Map<string, number>} */
const knownWidths = new Map();
const MOST_WIDTHS = 20_000;

/**
 * @param {string} text
 * @param {number} size
 * @param {boolean} [bold]
 */
function widthOfText(text, size, bold = false) {
  const font = fontOf({ size, bold, fill: '' });
  const key = `${font} ${text}`;
  const known = knownWidths.get(key);
  if (known !== undefined) return known;
  measuring.font = font;
  const { width } = measuring.measureText(text);
  if (knownWidths.size >= MOST_WIDTHS) knownWidths.clear();
  knownWidths.set(key, width);
  return width;
}

/**
 * The text, shortened in its middle if it is wider than the room.
 * @param {string} text
 * @param {number} size
 * @param {number} room
 */
function shortened(text, size, room) {
  if (text.length < 4 || widthOfText(text, size) <= room) return text;
  const letters = [...text].slice(0, 200);
  let kept = letters.length - 1;
  const cut = () => `${letters.slice(0, Math.ceil(kept / 2)).join('')}…${letters.slice(letters.length - Math.floor(kept / 2)).join('')}`;
  while (kept > 2 && widthOfText(cut(), size) > room) --kept;
  return cut();
}

/** @type {{theme: string | undefined, inks: ReturnType<typeof readInks> | null}} */
const knownInks = { theme: undefined, inks: null };

/** The colours of the page that pictures take. */
function inks() {
  const theme = document.documentElement.dataset['theme'];
  if (!knownInks.inks || knownInks.theme !== theme) {
    knownInks.inks = readInks();
    knownInks.theme = theme;
  }
  return knownInks.inks;
}

function readInks() {
  const style = getComputedStyle(document.documentElement);
  const ink = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    text: ink('--text'), quiet: ink('--quiet'), line: ink('--line'), ground: ink('--ground'), accent: ink('--accent'), faint: ink('--faint'), found: ink('--found'), negative: ink('--negative'),
  };
}

/** @typedef {ReturnType<typeof inks>} Inks */
