package supervisor

import "net/http"

// ServeHTTP serves the API.
func (s *Supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serveBy(w, r, func(at *Supervisor) http.Handler { return at.handler })
}

// serveBy has a handler of the supervisor where the instance is now serve a request. While the instance is between two
// volumes, requests wait.
func (s *Supervisor) serveBy(w http.ResponseWriter, r *http.Request, handler func(*Supervisor) http.Handler) {
	for {
		at := s.last()
		pausing := at.pausing.Load()
		if pausing == nil {
			handler(at).ServeHTTP(w, r)
			return
		}
		select {
		case <-*pausing:
		case <-r.Context().Done():
			return
		}
	}
}

// last is the supervisor of the instance where it is now.
func (s *Supervisor) last() *Supervisor {
	for {
		next := s.next.Load()
		if next == nil {
			return s
		}
		s = next
	}
}
