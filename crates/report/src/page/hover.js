'use strict';
// Says what is under the pointer or the finger: of a chart with an x axis, all points at the
// nearest x. Without this script a browser shows the titles of the marks.
(function () {
  const tip = document.getElementById('tip');
  let on = [];
  function clear() {
    on.forEach(function (mark) { mark.classList.remove('on'); });
    on = [];
    tip.hidden = true;
  }
  function bind(svg) {
    const marks = Array.from(svg.querySelectorAll('.m')).map(function (mark) {
      const title = mark.querySelector('title');
      const text = title ? title.textContent : '';
      if (title) title.remove();
      mark.setAttribute('aria-label', text);
      const cell = 'cell' in mark.dataset;
      const bar = mark.tagName === 'rect' && !cell;
      const number = function (name) { return Number(mark.getAttribute(name)); };
      return {
        mark: mark, text: text, bar: bar, cell: cell,
        x: bar ? number('x') + number('width') : cell ? number('x') + number('width') / 2 : number('cx'),
        y: bar || cell ? number('y') + number('height') / 2 : number('cy'),
      };
    });
    if (marks.length === 0) return;
    function show(event) {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale;
      const y = (event.clientY - box.top) * scale;
      const far = function (m) {
        return m.cell ? Math.hypot(m.x - x, m.y - y) : m.bar ? Math.abs(m.y - y) : Math.abs(m.x - x) * 1000 + Math.abs(m.y - y);
      };
      const nearest = marks.reduce(function (a, b) { return far(b) < far(a) ? b : a; });
      const close = marks.filter(function (m) {
        return nearest.bar || nearest.cell ? m === nearest : Math.abs(m.x - nearest.x) < 0.06;
      });
      clear();
      // The first line of each says where; it is said once.
      const lines = [];
      close.forEach(function (m) {
        m.mark.classList.add('on');
        m.text.split('\n').forEach(function (line) {
          if (line && lines.indexOf(line) < 0) lines.push(line);
        });
        on.push(m.mark);
      });
      tip.textContent = lines.join('\n');
      tip.hidden = false;
      const left = box.left + nearest.x / scale + 12;
      const top = box.top + nearest.y / scale - tip.offsetHeight - 8;
      tip.style.left = Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4)) + 'px';
      tip.style.top = Math.max(4, top) + 'px';
    }
    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', function (event) {
      if (event.pointerType === 'mouse') clear();
    });
  }
  document.addEventListener('scroll', clear, { passive: true });
  // A table that does not fit says so.
  function measure() {
    document.querySelectorAll('.scroll').forEach(function (box) {
      box.querySelector('.more').hidden = box.querySelector('table').offsetWidth <= box.clientWidth;
    });
  }
  window.addEventListener('resize', measure);
  // Again for charts that have taken the place of others.
  window.keystormHover = function () {
    clear();
    document.querySelectorAll('figure svg').forEach(bind);
    measure();
  };
  window.keystormHover();
})();
