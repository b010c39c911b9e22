'use strict';
// Shows the page of a run while it grows: one connection of events, each of which brings the page as it is now. When
// drawing is paused the connection is closed, so that nothing is drawn for nobody.
(function () {
  const main = document.querySelector('main');
  const state = document.getElementById('live-state');
  const pause = document.getElementById('live-pause');
  const form = document.getElementById('live-mark');
  const text = document.getElementById('live-text');
  const save = document.getElementById('live-save');
  let source = null;
  let ended = false;
  let started = null;
  function say(words) { state.textContent = words; }
  function show(page) {
    const open = Array.from(main.querySelectorAll('section details[open]'), function (one) {
      return one.closest('section').id;
    });
    const top = window.scrollY;
    main.innerHTML = page.main;
    document.title = page.title;
    open.forEach(function (id) {
      const section = document.getElementById(id);
      const details = section && section.querySelector('details');
      if (details) details.open = true;
    });
    window.scrollTo(0, top);
    window.keystormHover();
    document.documentElement.dataset.drawn = Number(document.documentElement.dataset.drawn || 0) + 1;
  }
  function finish(page) {
    ended = true;
    source.close();
    pause.hidden = form.hidden = true;
    say('Ended.');
    save.href = URL.createObjectURL(new Blob([page.html], { type: 'text/html' }));
    save.hidden = false;
    document.documentElement.dataset.ended = 'yes';
  }
  function listen() {
    source = new EventSource('events');
    source.onopen = function () { say('Running'); };
    source.onerror = function () { if (!ended) say('keystorm does not answer. This is the page as it was.'); };
    source.addEventListener('page', function (event) {
      const page = JSON.parse(event.data);
      // Another keystorm may have taken the port.
      if (started === null) started = page.started;
      if (page.started !== started) { source.close(); say('Another run has taken the port; reload for its page.'); return; }
      show(page);
      say(page.state);
      if (page.html) finish(page);
    });
  }
  pause.addEventListener('click', function () {
    const paused = pause.getAttribute('aria-pressed') === 'true';
    pause.setAttribute('aria-pressed', String(!paused));
    pause.textContent = paused ? 'Pause' : 'Go on';
    if (paused) { listen(); } else { source.close(); say('Paused'); }
  });
  form.addEventListener('submit', function (event) {
    event.preventDefault();
    const words = text.value.trim() || 'mark';
    fetch('mark/' + encodeURIComponent(words), { method: 'POST', headers: { 'X-Keystorm': 'mark' } })
      .then(function (answer) {
        if (!answer.ok) return answer.text().then(function (why) { say(why.trim()); });
        text.value = '';
        say('Marked: ' + words);
      })
      .catch(function () { say('The mark was not set: keystorm does not answer.'); });
  });
  listen();
})();
