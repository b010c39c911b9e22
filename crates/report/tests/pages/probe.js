// Run by the tests in a copy of a page: what a reader would see, as data.
(function () {
  'use strict';
  const faults = [];
  const asked = [];
  window.addEventListener('error', function (e) { faults.push(String(e.message)); });
  document.addEventListener('securitypolicyviolation', function (e) { asked.push(e.blockedURI); });
  function look() {
    const tip = document.getElementById('tip');
    const figures = Array.from(document.querySelectorAll('figure')).map(function (figure) {
      const all = Array.from(figure.querySelectorAll('svg'));
      const shown = all.filter(function (svg) { return svg.getBoundingClientRect().width > 0; });
      const svg = shown[0];
      const frame = svg.getBoundingClientRect();
      // Text without what a font leaves free above and below it.
      const texts = Array.from(svg.querySelectorAll('text')).map(function (text) {
        const box = text.getBoundingClientRect();
        const free = box.height * 0.2;
        return { text: text.textContent, left: box.left, right: box.right, top: box.top + free, bottom: box.bottom - free };
      });
      const collisions = [];
      texts.forEach(function (a, n) {
        texts.slice(n + 1).forEach(function (b) {
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (across > 1 && down > 1) collisions.push(a.text + ' on ' + b.text);
        });
      });
      const outside = texts.filter(function (t) {
        return t.left < frame.left - 2 || t.right > frame.right + 2 || t.top < frame.top - 2 || t.bottom > frame.bottom + 2;
      }).map(function (t) { return t.text; });
      const series = figure.dataset.points === '' ? [] : figure.dataset.points.split(' ');
      const points = series.map(function (_, n) {
        return svg.querySelectorAll('.m[data-s="' + n + '"]').length;
      });
      let told = false;
      const mark = svg.querySelector('.m');
      if (mark) {
        const box = mark.getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent('pointermove', {
          clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, pointerType: 'mouse',
        }));
        told = !tip.hidden && tip.textContent.length > 0 && svg.querySelectorAll('.m.on').length > 0;
        svg.dispatchEvent(new PointerEvent('pointerleave', { pointerType: 'mouse' }));
      }
      return {
        title: figure.querySelector('figcaption').textContent, pictures: shown.length,
        points: points, outside: outside, collisions: collisions, told: told,
      };
    });
    performance.getEntriesByType('resource').forEach(function (entry) { asked.push(entry.name); });
    document.body.dataset.probe = JSON.stringify({
      faults: faults, asked: asked, figures: figures,
      width: document.documentElement.clientWidth, needed: document.documentElement.scrollWidth,
    });
  }
  window.addEventListener('load', look);
})();
