// A page that is opened as a file may start no worker. This runs the worker's script in a hidden frame instead, with
// messages both ways, for the search. `Worker` stays the browser's own wherever there is a server.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const hear = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.inside.postMessage = (data) => setTimeout(() => hear(data));
      this.inside.importScripts = (...scripts) =>
        Promise.all(scripts.map((script) => this.load(new URL(script, address))));
      this.load(new URL(address, location.href)).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        for (const data of waiting) this.postMessage(data);
      });
    }
    load(address) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = address;
        script.onload = loaded;
        script.onerror = failed;
        this.inside.document.head.append(script);
      });
    }
    postMessage(data) {
      if (this.waiting) return void this.waiting.push(data);
      const event = new this.inside.MessageEvent("message", { data });
      setTimeout(() => this.inside.dispatchEvent(event));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
