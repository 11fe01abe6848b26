// Send one actuator in the plain form, with Node.js only: node send_plain.mjs [ENDPOINT] [SAMPLES] [RATE]
//
// No library is needed: this is the part of ZMTP 3.0 (https://rfc.zeromq.org/spec/23/) that a publisher on a
// trusted network needs.

import { createServer } from "node:net";

const [endpoint = "tcp://127.0.0.1:5555", samples = "10000", rate = "1000"] = process.argv.slice(2);
const [, host, port] = /^tcp:\/\/(.+):(\d+)$/.exec(endpoint) ?? [];
const subscribers = new Set();

const property = (name, value) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(value.length);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), length, Buffer.from(value)]);
};
const frame = (flags, body) => {
  const head = Buffer.alloc(body.length > 255 ? 9 : 2);
  head[0] = body.length > 255 ? flags | 2 : flags;
  if (body.length > 255) head.writeBigUInt64BE(BigInt(body.length), 1);
  else head[1] = body.length;
  return Buffer.concat([head, body]);
};
const greeting = Buffer.alloc(64); // signature, version 3.0, mechanism NULL
greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0]);
greeting.write("NULL", 12);
const ready = frame(4, Buffer.concat([Buffer.from("\x05READY"), property("Socket-Type", "PUB")]));

function receive(socket, flags, body) {
  const ping = flags & 4 && body.toString("latin1", 0, 5) === "\x04PING";
  if (ping) socket.write(frame(4, Buffer.concat([Buffer.from("\x04PONG"), body.subarray(7)])));
  // 1 and a prefix: a subscription; a message without topic matches the empty prefix only
  else if (!(flags & 4) && body[0] === 1 && body.length === 1) subscribers.add(socket);
}

const server = createServer((socket) => {
  let bytes = Buffer.alloc(0);
  let greeted = false;
  socket.write(Buffer.concat([greeting, ready]));
  socket.on("close", () => subscribers.delete(socket)).on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (!greeted && bytes.length < 64) return;
    if (!greeted) bytes = bytes.subarray(64);
    greeted = true;
    while (bytes.length >= (bytes[0] & 2 ? 9 : 2)) {
      const long = bytes[0] & 2;
      const end = long ? 9 + Number(bytes.readBigUInt64BE(1)) : 2 + bytes[1];
      if (bytes.length < end) break;
      receive(socket, bytes[0], bytes.subarray(long ? 9 : 2, end));
      bytes = bytes.subarray(end);
    }
  });
});

const sine = (t) => Math.sin(2 * Math.PI * t);

function send(index) {
  const t = index / rate;
  const last = index + 1 >= samples;
  const message = { rig: "example", sample_rate: +rate, t, command: sine(t), measured: sine(t - 0.005), last };
  for (const socket of subscribers) socket.write(frame(0, Buffer.from(JSON.stringify(message))));
}

function run(start, index) {
  for (; index < samples && index / rate <= (Date.now() - start) / 1000; index++) send(index);
  if (index < samples) return setTimeout(run, 5, start, index);
  for (const socket of subscribers) socket.end();
  server.close();
  setTimeout(process.exit, 1000).unref();
}

function wait(attempts) {
  if (subscribers.size || !attempts) run(Date.now(), 0); // earlier messages would be lost
  else setTimeout(wait, 5, attempts - 1);
}

function fail(problem) {
  console.error(`send_plain: ${endpoint}: ${problem}`);
  process.exit(2);
}

if (!host) fail("write tcp://HOST:PORT");
server.on("error", (problem) => fail(problem.message));
server.listen(+port, host, () => wait(1000));
