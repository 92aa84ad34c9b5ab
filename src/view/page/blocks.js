/** Bytes of decoded maps that are kept; a map that was not looked at for longest goes first. */
const CACHE_BYTES = 96 * 1024 * 1024;

/**
 * Values by keys, bounded by their bytes.
 * @template V
 */
class BoundedCache {
  /** @param {number} bytes */
  constructor(bytes) {
    this.limit = bytes;
    this.used = 0;
    /** @type {Map<string, {value: V, bytes: number}>} */
    this.entries = new Map();
  }

  /**
   * @param {string} key
   * @returns {V | undefined}
   */
  get(key) {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  /**
   * @param {string} key
   * @param {V} value
   * @param {number} bytes
   */
  set(key, value, bytes) {
    const before = this.entries.get(key);
    if (before) this.used -= before.bytes;
    this.entries.delete(key);
    this.entries.set(key, { value, bytes });
    this.used += bytes;
    for (const [oldest, entry] of this.entries) {
      if (this.used <= this.limit || oldest === key) break;
      this.entries.delete(oldest);
      this.used -= entry.bytes;
    }
  }
}

/** @param {string} text base64 */
function bytesOfBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; ++index) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/**
 * The bytes of `block-N`.
 * @param {import('./data').Block} block
 * @returns {Promise<ArrayBuffer>}
 */
async function readBlock(block) {
  const text = document.getElementById(`block-${block}`)?.textContent;
  if (text === undefined || text === null) throw new Error(`block ${block} is missing`);
  const inflated = new DecompressionStream('deflate-raw');
  const writer = inflated.writable.getWriter();
  // A damaged block is reported by the reading side; the writing side would report it once more.
  writer.write(bytesOfBase64(text.trim())).catch(() => {});
  writer.close().catch(() => {});
  return new Response(inflated.readable).arrayBuffer();
}
