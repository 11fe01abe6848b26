function send_matlab(endpoint, samples, rate)
%SEND_MATLAB Send one actuator in the plain form, through MATLAB's Python with pyzmq installed in it.
%   send_matlab("tcp://127.0.0.1:5555", 10000, 1000)
%   Needs "pip install pyzmq" in the Python that "pyenv" names. The project's tests do not run this file.
arguments
    endpoint (1,1) string = "tcp://127.0.0.1:5555"
    samples (1,1) double = 10000
    rate (1,1) double = 1000
end
context = py.zmq.Context();
socket = context.socket(py.zmq.XPUB);
socket.bind(endpoint);
cleanup = onCleanup(@() context.destroy(pyargs("linger", int32(1000))));
socket.poll(int32(5000));  % wait for a subscriber: earlier messages would be lost
for index = 0:samples - 1
    t = index / rate;
    message = struct("rig", "example", "sample_rate", rate, "t", t, ...
        "command", sin(2*pi*t), "measured", sin(2*pi*(t - 0.005)), "last", index + 1 == samples);
    socket.send_string(jsonencode(message));
    pause(1 / rate);
end
end
